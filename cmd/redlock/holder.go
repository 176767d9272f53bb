package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/kind"
)

const (
	nameEnv  = "REDLOCK_NAME"
	tokenEnv = "REDLOCK_TOKEN"
	fenceEnv = "REDLOCK_FENCE"
)

// holder runs a command under a lock.
type holder struct {
	locker  *redlock.Locker
	lock    *redlock.Lock
	flags   *runFlags
	signals *caught
	log     *slog.Logger

	lost    bool // the lock was lost before the command ended
	toldEnd bool // a SIGTERM was forwarded, or after the loss any signal that ends a wait
}

// errStoppedTooLong means that redlock or its supervisor was stopped until the lock had ended, as far as the supervisor
// knew. The supervisor then did not start the command, or ended it.
var errStoppedTooLong = errors.New(
	"redlock or its supervisor was stopped for so long that the lock could have been lost",
)

// errMayHaveRun means that the command was perhaps started, and was then ended, although start failed.
var errMayHaveRun = errors.New("it may have run for a moment")

// status is how a command ended.
type status struct {
	code    int            // its exit status; 128+n for a signal
	signal  syscall.Signal // 0 if it exited by itself
	expired bool           // its supervisor ended it because of errStoppedTooLong
}

func (s status) String() string {
	if s.signal != 0 {
		return fmt.Sprintf("was ended by signal %d (%v)", int(s.signal), s.signal)
	}
	return fmt.Sprintf("ended with status %d", s.code)
}

// run runs the command and unlocks. It returns nil if the command ended with 0 and the lock was held to its end.
func (h *holder) run(path string, argv []string) error {
	c, err := start(h.lock, h.flags.grace, h.signals, path, argv, h.env())
	if err != nil {
		return h.notStarted(argv[0], err)
	}
	how := h.wait(c)
	if h.lost { // it has been reported
		_ = h.lock.Unlock(context.Background()) // frees the name early
		return &exit{exitLost, fmt.Errorf("%s %s", argv[0], how)}
	}
	err = lostError(h.lock)
	if err == nil {
		err = h.unlock()
	}
	if err != nil {
		h.lost = true
		return &exit{exitLost, fmt.Errorf("%w; %s %s", err, argv[0], how)}
	}
	if how.expired { // the lock was extended after the last report to the supervisor, or it was about to end
		h.lost = true
		return &exit{exitLost, fmt.Errorf("%w; %s %s", errStoppedTooLong, argv[0], how)}
	}
	if how.code != 0 {
		return &exit{how.code, nil}
	}
	return nil
}

// notStarted unlocks and returns the error of a command that could not be started.
func (h *holder) notStarted(command string, err error) error {
	lost := lostError(h.lock)
	if lost == nil && errors.Is(err, errStoppedTooLong) {
		lost = err
	}
	_ = h.unlock()
	if !errors.Is(err, errMayHaveRun) {
		endMinHold(h.locker, h.flags, h.lock)
	}
	switch {
	case lost != nil:
		h.lost = true
		return &exit{exitLost, fmt.Errorf("%w; %s was not started", lost, command)}
	case errors.Is(err, fs.ErrNotExist):
		return &exit{exitNotFound, fmt.Errorf("%s cannot be executed: %w", command, err)}
	default:
		return &exit{exitNotExecutable, fmt.Errorf("%s cannot be executed: %w", command, err)}
	}
}

// endMinHold ends the minimum hold of an unlocked lock. It is for a lock under which no command ran.
func endMinHold(locker *redlock.Locker, f *runFlags, lock *redlock.Lock) {
	if f.minHold > 0 {
		_ = locker.Release(context.Background(), lock.Name(), kind.KeptToken(lock.Token()))
	}
}

// wait forwards signals until the command ends. If the lock is lost first, it reports that and ends the command. It
// returns how the command ended.
func (h *holder) wait(c *child) status {
	lost := h.lock.Context().Done()
	report := time.NewTimer(0)
	defer report.Stop()
	for {
		select {
		case <-report.C:
			if !h.lost {
				c.reportDeadline(h.lock)
				report.Reset(max(time.Until(h.lock.Until())/4, 20*time.Millisecond))
			}
		case s := <-h.signals.c:
			if h.signals.isResume(s) {
				continue // the command is resumed with this process
			}
			h.log.Info("forwarding", "signal", s.String())
			h.toldEnd = h.toldEnd || s == syscall.SIGTERM || h.lost && endsWait(s)
			c.send(s)
		case how := <-c.ended:
			c.close(!h.lost && how.signal == 0)
			return how
		case <-lost:
			lost, h.lost = nil, true
			stderr.say(sentence(lostError(h.lock)) + "; stopping the command")
			c.stop()
		}
	}
}

// unlock releases the lock. It returns an error if the lock was no longer held, and only prints every other failure.
func (h *holder) unlock() error {
	err := h.lock.Unlock(context.Background())
	switch {
	case err == nil:
		h.log.Info("unlocked", "name", h.lock.Name())
	case errors.Is(err, redlock.ErrLost):
		return err
	default:
		stderr.say("redlock: the release is not confirmed, others may have to wait for the TTL: " +
			noMajority + perMaster(err))
	}
	return nil
}

// lostError returns why the lock is no longer held; nil if it is held.
func lostError(l *redlock.Lock) error {
	err := l.Err()
	if err == nil || errors.Is(err, redlock.ErrLost) {
		return err
	}
	return fmt.Errorf("%w: %w", redlock.ErrLost, err)
}

// env returns the environment of the command. REDLOCK_MASTERS is left out because it may have passwords, and a stale
// REDLOCK_FENCE because this redlock may itself run under a lock with a fencing token.
func (h *holder) env() []string {
	own := []string{nameEnv, tokenEnv, outerEnv, fenceEnv}
	if !h.flags.passMasters {
		own = append(own, mastersEnv)
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(own, name)
	})
	env = append(env, nameEnv+"="+h.lock.Name(), tokenEnv+"="+h.lock.Token())
	if outer := outerTokens(); len(outer) > 0 {
		env = append(env, outerEnv+"="+outer.Encode())
	}
	if fence := h.lock.Fence(); fence > 0 {
		env = append(env, fenceEnv+"="+strconv.FormatUint(fence, 10))
	}
	return env
}
