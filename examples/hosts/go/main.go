// Where should job c go? Ranks two placements by how well the traffic on the link "tor1-up" interleaves, best first.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"sort"
	"strconv"
	"strings"
	"time"

	"example.org/rank/internal/cassini"
)

const gbps = 1_000_000 // kbit/s

// Candidate is one placement: the jobs that it brings together on the link.
type Candidate struct {
	ID   string
	Link cassini.Link
}

// Ranked is a candidate and what it is worth.
type Ranked struct {
	Candidate
	cassini.Answer
}

// Rank solves the links of all candidates in one call and puts the best first.
func Rank(ctx context.Context, candidates []Candidate) ([]Ranked, error) {
	links := make([]cassini.Link, len(candidates))
	for i, candidate := range candidates {
		links[i] = candidate.Link
	}
	answers, err := cassini.SolveLinks(ctx, links)
	if err != nil {
		return nil, err
	}
	ranking := make([]Ranked, len(candidates))
	for i := range candidates {
		ranking[i] = Ranked{candidates[i], answers[i]}
	}
	sort.SliceStable(ranking, func(i, j int) bool { return ranking[i].Score > ranking[j].Score })
	return ranking, nil
}

// hexadecimal writes a number exactly and as C does with %a: Go pads the exponent.
func hexadecimal(x float64) string {
	digits, exponent, _ := strings.Cut(strconv.FormatFloat(x, 'x', 13, 64), "p")
	power, _ := strconv.Atoi(exponent)
	return fmt.Sprintf("%sp%+d", digits, power)
}

func show(ranking []Ranked) {
	for place, r := range ranking {
		optimal := map[bool]string{true: "yes", false: "no"}[r.Optimal]
		fmt.Printf("%d %-8s  score %s %.6f  bound %s %.6f  optimal %-3s  hold %8d ns\n", place+1, r.ID,
			hexadecimal(r.Score), r.Score, hexadecimal(r.UpperBound), r.UpperBound, optimal, r.Hold.Nanoseconds())
		for j, job := range r.Link.Jobs {
			fmt.Printf("    %s  shift %9d ns  slack %8d ns\n", job.ID, r.Shifts[j].Nanoseconds(), r.Slacks[j].Nanoseconds())
		}
	}
}

func round() []Candidate {
	const ms = time.Millisecond
	burst := []cassini.Phase{{Start: 141 * ms, Length: 114 * ms, Rate: 45 * gbps}}
	a := cassini.Job{ID: "a", Period: 255 * ms, Phases: burst}
	b := cassini.Job{ID: "b", Period: 255 * ms, Phases: burst}
	c := cassini.Job{ID: "c", Period: 510 * ms, Phases: []cassini.Phase{
		{Start: 0, Length: 60 * ms, Rate: 40 * gbps},
		{Start: 300 * ms, Length: 50 * ms, Rate: 25 * gbps},
	}}
	return []Candidate{
		{"together", cassini.Link{Capacity: 50 * gbps, Jobs: []cassini.Job{a, b, c}}},
		{"apart", cassini.Link{Capacity: 50 * gbps, Jobs: []cassini.Job{a, b}}},
	}
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("rank: ")
	if err := cassini.CheckABI(); err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) // Ctrl-C ends a long search
	defer stop()
	ctx, done := context.WithTimeout(ctx, 10*time.Second)
	defer done()
	ranking, err := Rank(ctx, round())
	if err != nil {
		log.Fatal(err)
	}
	show(ranking)
}
