// Package cassini calls libcassini: how well the periodic traffic of jobs that share a link interleaves.
//
// One tick is a nanosecond, so times are time.Duration. All functions may be called from any number of goroutines.
package cassini

/*
#cgo pkg-config: cassini
#include <cassini/cassini.h>

// Go's memory may not hold pointers that C follows, but C's may for the time of a call, and pointers into Go's memory may
// be arguments: the structs of cassini.h are put together here, on C's stack.
static int32_t solve_links(int64_t n_links, const int64_t* capacity, const int64_t* job_offset, int64_t n_jobs,
                           const int64_t* period, const int64_t* phase_offset, int64_t n_phases, const int64_t* start,
                           const int64_t* length, const int64_t* rate, const cassini_options* options,
                           const int32_t* cancel, int64_t* shift, int64_t* slack, uint8_t* is_free,
                           cassini_link_result* result, int32_t* status, cassini_error* error) {
  const cassini_links links = {CASSINI_SIZE(cassini_links),
                               .n_links = n_links,
                               .capacity_kbps = capacity,
                               .job_offset = job_offset,
                               .n_jobs = n_jobs,
                               .period_ns = period,
                               .phase_offset = phase_offset,
                               .n_phases = n_phases,
                               .phase_start_ns = start,
                               .phase_length_ns = length,
                               .phase_rate_kbps = rate};
  const cassini_link_output output = {
      CASSINI_SIZE(cassini_link_output), .shift_ns = shift, .slack_ns = slack, .is_free = is_free};
  return cassini_solve_links(&links, options, cancel, &output, result, status, error);
}
*/
import "C"

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Phase is an interval of an iteration in which a job sends.
type Phase struct {
	Start, Length time.Duration
	Rate          int64 // kbit/s
}

// Job repeats one iteration.
type Job struct {
	ID     string
	Period time.Duration
	Phases []Phase
}

// Link is shared by jobs.
type Link struct {
	Capacity int64 // kbit/s
	Jobs     []Job
}

// Answer says how well the jobs of a link interleave.
type Answer struct {
	Score      float64 // certified: at least so much is reached by Shifts
	UpperBound float64 // no shifts score more
	Optimal    bool
	Shifts     []time.Duration // one for each job
	Slacks     []time.Duration // how far each job alone may drift
	Hold       time.Duration   // how far all may drift at once
}

// Error is a call of the library that failed.
type Error struct {
	Status int32
	Reason string // which argument was wrong, and how; may be empty
}

func (e Error) Error() string {
	if e.Reason != "" {
		return "cassini: " + e.Reason
	}
	return "cassini: " + C.GoString(C.cassini_strerror(C.int32_t(e.Status)))
}

// CheckABI fails unless the library that was loaded is one this package was compiled for. Call it first.
func CheckABI() error {
	if have := C.cassini_abi_version(); have != C.CASSINI_ABI_VERSION {
		return fmt.Errorf("cassini: libcassini has ABI %d, expected %d", have, C.CASSINI_ABI_VERSION)
	}
	return nil
}

// SolveLinks finds the best shifts for each link in one call. Past the deadline of ctx it answers with what it has; once
// ctx is canceled it returns context.Canceled.
func SolveLinks(ctx context.Context, links []Link) ([]Answer, error) {
	if ctx.Err() == context.Canceled {
		return nil, context.Canceled
	}
	if len(links) == 0 {
		return nil, nil
	}
	in := concatenate(links)
	shift, slack := make([]C.int64_t, in.jobs()), make([]C.int64_t, in.jobs())
	free := make([]C.uint8_t, in.jobs())
	result, status := make([]C.cassini_link_result, len(links)), make([]C.int32_t, len(links))
	for i := range result {
		result[i].size = C.sizeof_cassini_link_result
	}
	why := C.cassini_error{size: C.sizeof_cassini_error}
	var options C.cassini_options
	if rc := C.cassini_init_options(&options, C.sizeof_cassini_options); rc != C.CASSINI_OK {
		return nil, Error{Status: int32(rc)}
	}
	if deadline, ok := ctx.Deadline(); ok {
		if options.deadline_ns = C.int64_t(time.Until(deadline)); options.deadline_ns < 0 {
			options.deadline_ns = 0
		}
	}
	flag, stopWatching := watch(ctx)
	defer stopWatching()
	// cgo keeps what the arguments point to in place until the call returns. None of it holds a Go pointer.
	rc := C.solve_links(C.int64_t(len(links)), first(in.capacity), first(in.jobOffset), C.int64_t(in.jobs()),
		first(in.period), first(in.phaseOffset), C.int64_t(len(in.phaseStart)), first(in.phaseStart),
		first(in.phaseLength), first(in.phaseRate), &options, (*C.int32_t)(flag),
		first(shift), first(slack), first(free), first(result), first(status), &why)
	if rc == C.CASSINI_ECANCELED {
		return nil, context.Canceled
	}
	if rc != C.CASSINI_OK {
		return nil, Error{int32(rc), C.GoString(&why.text[0])}
	}
	answers := make([]Answer, len(links))
	for i, r := range result {
		if status[i] != C.CASSINI_OK {
			return nil, fmt.Errorf("link %d: %w", i, Error{int32(status[i]), C.GoString(&why.text[0])})
		}
		from, to := in.jobOffset[i], in.jobOffset[i+1]
		answers[i] = Answer{float64(r.score_lower), float64(r.upper_bound), r.optimal != 0,
			durations(shift[from:to]), durations(slack[from:to]), time.Duration(r.hold_ns)}
	}
	return answers, nil
}

// watch gives a flag that becomes 1 when ctx is canceled, and a function that ends the watching.
func watch(ctx context.Context) (flag *int32, stop func()) {
	flag = new(int32)
	ended, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		select {
		case <-ctx.Done():
			if ctx.Err() == context.Canceled {
				atomic.StoreInt32(flag, 1)
			}
		case <-ended:
		}
	}()
	return flag, func() {
		close(ended)
		<-gone
	}
}

// concatenated links are what cassini_links has.
type concatenated struct {
	jobOffset, phaseOffset, capacity, period, phaseStart, phaseLength, phaseRate []C.int64_t
}

func (c concatenated) jobs() int { return len(c.period) }

func concatenate(links []Link) concatenated {
	c := concatenated{jobOffset: []C.int64_t{0}, phaseOffset: []C.int64_t{0}}
	for _, link := range links {
		for _, job := range link.Jobs {
			for _, phase := range job.Phases {
				c.phaseStart = append(c.phaseStart, C.int64_t(phase.Start))
				c.phaseLength = append(c.phaseLength, C.int64_t(phase.Length))
				c.phaseRate = append(c.phaseRate, C.int64_t(phase.Rate))
			}
			c.period = append(c.period, C.int64_t(job.Period))
			c.phaseOffset = append(c.phaseOffset, C.int64_t(len(c.phaseStart)))
		}
		c.capacity = append(c.capacity, C.int64_t(link.Capacity))
		c.jobOffset = append(c.jobOffset, C.int64_t(len(c.period)))
	}
	return c
}

// first points to where a slice begins; an empty one, which the library may not read, has nil.
func first[T any](slice []T) *T {
	if len(slice) == 0 {
		return nil
	}
	return &slice[0]
}

func durations(ticks []C.int64_t) []time.Duration {
	out := make([]time.Duration, len(ticks))
	for i, t := range ticks {
		out[i] = time.Duration(t)
	}
	return out
}
