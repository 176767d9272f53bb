//go:build unix

package main

import (
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/internal/testmain"
)

// patient records what is done to a supervisor, and when.
type patient struct {
	began time.Time

	mu   sync.Mutex
	done []string
}

func (p *patient) note(what string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = append(p.done, what+" after "+time.Since(p.began).String())
	return nil
}

func (p *patient) Signal(s os.Signal) error { return p.note(s.(syscall.Signal).String()) }
func (p *patient) Kill() error              { return p.note("kill") }

func TestASilentSupervisorIsResumedAndThenKilled(t *testing.T) {
	t.Parallel()
	type testCase struct {
		answers []time.Duration // after the first question
		want    []string
	}
	testmain.Each(t, map[string]testCase{
		"silent":             {nil, []string{"continued after 2s", "kill after 7s"}},
		"in time":            {[]time.Duration{1900 * time.Millisecond}, nil},
		"after it resumed":   {[]time.Duration{2100 * time.Millisecond}, []string{"continued after 2s"}},
		"at the last moment": {[]time.Duration{6900 * time.Millisecond}, []string{"continued after 2s"}},
	}, func(t *testing.T, tc testCase) {
		synctest.Test(t, func(t *testing.T) {
			super := &patient{began: time.Now()}
			p := &pulse{super: super}
			for _, after := range tc.answers {
				time.AfterFunc(after, p.answer)
			}
			p.ask()
			p.ask() // a question behind another does not begin the time again
			time.Sleep(time.Minute)
			super.mu.Lock()
			defer super.mu.Unlock()
			assert.Equal(t, tc.want, super.done)
		})
	})
}
