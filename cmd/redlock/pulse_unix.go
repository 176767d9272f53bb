//go:build unix

package main

import (
	"context"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	// supervisorSlack is how long after a grace period this process waits for the supervisor to end the command of a
	// lost lock.
	supervisorSlack = 2 * time.Second

	resumeAfter = 2 * time.Second // without an answer, the supervisor is resumed
	killAfter   = 5 * time.Second // later without an answer, the supervisor is killed
)

// limitSupervisor resumes a supervisor that is stopped when the lock ends. If the supervisor has not ended the command
// supervisorSlack after the grace period, limitSupervisor kills it, and takeOver ends the command.
func limitSupervisor(held context.Context, super *os.Process, grace time.Duration) {
	context.AfterFunc(held, func() {
		_ = super.Signal(syscall.SIGCONT)
		time.AfterFunc(grace+supervisorSlack, func() { _ = super.Kill() })
	})
}

// pulse watches that the supervisor answers while the lock is held. A supervisor that is stopped would not report the
// end of the command, and redlock would extend the lock for ever. So pulse resumes a silent supervisor, and kills it if
// that does not help. Then takeOver ends the command.
type pulse struct {
	super interface {
		Signal(os.Signal) error
		Kill() error
	}

	mu   sync.Mutex
	next *time.Timer // the next measure; nil: there is no question without an answer
}

// ask is called before the supervisor is asked.
func (p *pulse) ask() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == nil {
		p.next = time.AfterFunc(resumeAfter, p.resume)
	}
}

// answer is called when the supervisor has said anything, or has ended.
func (p *pulse) answer() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next != nil {
		p.next.Stop()
		p.next = nil
	}
}

func (p *pulse) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next != nil { // no answer came meanwhile
		_ = p.super.Signal(syscall.SIGCONT)
		p.next = time.AfterFunc(killAfter, func() { _ = p.super.Kill() })
	}
}
