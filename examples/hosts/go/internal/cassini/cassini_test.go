package cassini

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"
)

const (
	ms   = time.Millisecond
	gbps = 1_000_000
)

func link(jobs int) Link {
	l := Link{Capacity: 50 * gbps}
	for j := 0; j < jobs; j++ {
		burst := []Phase{{time.Duration(7*j) * ms, 114 * ms, 45 * gbps}, {150 * ms, time.Duration(10+3*j) * ms, 20 * gbps}}
		l.Jobs = append(l.Jobs, Job{Period: 255 * ms, Phases: burst})
	}
	return l
}

// hard keeps a search busy for minutes: fourteen jobs that together ask for all of the link.
func hard() Link {
	l := Link{Capacity: 50 * gbps}
	for j := 0; j < 14; j++ {
		job := Job{Period: 420 * ms}
		for k := 0; k < 4; k++ {
			start := time.Duration((97*k+31*j+j*j*k)%400)*ms + time.Duration(j*k)*time.Microsecond
			job.Phases = append(job.Phases, Phase{start, 19*ms + time.Duration(j)*time.Microsecond, 20 * gbps})
		}
		l.Jobs = append(l.Jobs, job)
	}
	return l
}

func TestGoroutinesGetTheSameAnswers(t *testing.T) {
	links := []Link{link(2), link(3), link(4), link(1)}
	want, err := SolveLinks(context.Background(), links)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for g := 0; g < 32; g++ {
		all.Add(1)
		go func() {
			defer all.Done()
			ctx, done := context.WithTimeout(context.Background(), time.Minute)
			defer done()
			got, err := SolveLinks(ctx, links)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, %v, want %v", got, err, want)
			}
		}()
	}
	all.Wait()
}

func TestADeadlineGivesAnAnswer(t *testing.T) {
	ctx, done := context.WithTimeout(context.Background(), 20*ms)
	defer done()
	answers, err := SolveLinks(ctx, []Link{hard()})
	if err != nil {
		t.Fatal(err)
	}
	if a := answers[0]; a.Optimal || a.Score > a.UpperBound {
		t.Errorf("expected an unproven answer within its bound, got %v", a)
	}
}

func TestCancelEndsACall(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*ms, cancel)
	many := make([]Link, 4) // each takes a second or more, until its node limit ends it
	for i := range many {
		many[i] = hard()
	}
	if _, err := SolveLinks(ctx, many); !errors.Is(err, context.Canceled) {
		t.Errorf("expected %v, got %v", context.Canceled, err)
	}
}

func TestWhatIsWrongIsAnError(t *testing.T) {
	_, err := SolveLinks(context.Background(), []Link{link(2), {Capacity: -1, Jobs: link(2).Jobs}})
	var failed Error
	if !errors.As(err, &failed) || err.Error() != "link 1: cassini: capacity_kbps[1]: expected 1 .. 1099511627776, got -1" {
		t.Errorf("got %v", err)
	}
	if answers, err := SolveLinks(context.Background(), nil); err != nil || answers != nil {
		t.Errorf("no links: got %v, %v", answers, err)
	}
	if _, err := SolveLinks(context.Background(), []Link{{Capacity: 1}}); !errors.As(err, &failed) {
		t.Errorf("a link without jobs: got %v", err)
	}
}
