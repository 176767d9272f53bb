package suite

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/report"
	"github.com/redlock-go/redlock/chaos/internal/scenarios"
)

// indexFile keeps the index of a run, and writes it after every change, so that an interrupted run leaves the index of
// what it has done.
type indexFile struct {
	dir string
	say func(format string, args ...any)

	mu     sync.Mutex
	index  report.Index
	warned bool // that it cannot be written
}

func openIndex(ctx context.Context, dir string, seed uint64, replay string, say func(string, ...any)) *indexFile {
	b := &indexFile{dir: dir, say: say}
	b.change(func(x *report.Index) { x.Began, x.Seed, x.Replay, x.Commit = time.Now(), seed, replay, commit(ctx) })
	return b
}

func (b *indexFile) change(f func(*report.Index)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(&b.index)
	b.index.Took = time.Since(b.index.Began)
	if err := report.SaveIndex(b.dir, b.index); err != nil && !b.warned {
		b.warned = true
		b.say("the index is not written: %v", err)
	}
}

// plan enters the jobs that will be played, as pending.
func (b *indexFile) plan(jobs []scenarios.Job) {
	b.change(func(x *report.Index) {
		for _, j := range jobs {
			x.Played = append(x.Played, report.Run{Name: j.Scenario.Name, Backend: j.Backend, Pending: true})
		}
	})
}

// played enters an outcome. It takes the place of its pending job, if there is one.
func (b *indexFile) played(out scenarios.Outcome) {
	p := out.Played()
	if folder, err := filepath.Rel(b.dir, p.Folder); err == nil {
		p.Folder = filepath.ToSlash(folder)
	}
	b.change(func(x *report.Index) {
		i := slices.IndexFunc(x.Played, func(other report.Run) bool {
			return other.Pending && other.Name == p.Name && other.Backend == p.Backend
		})
		if i < 0 {
			x.Played = append(x.Played, p)
			return
		}
		x.Played[i] = p
	})
}

// control enters the result of a control into the set of that title.
func (b *indexFile) control(title, about string, one report.Control) {
	b.change(func(x *report.Index) {
		i := slices.IndexFunc(x.Controls, func(s report.Controls) bool { return s.Title == title })
		if i < 0 {
			i, x.Controls = len(x.Controls), append(x.Controls, report.Controls{Title: title, About: about})
		}
		x.Controls[i].All = append(x.Controls[i].All, one)
	})
}

func (b *indexFile) simulated(s report.Simulated) {
	b.change(func(x *report.Index) { x.Simulated = append(x.Simulated, s) })
}

// close notes the end of the run, and err as the reason why there is no verdict.
func (b *indexFile) close(err error) {
	b.change(func(x *report.Index) {
		x.Ended = true
		switch {
		case errors.Is(err, context.Canceled):
			x.NoVerdict = "interrupted"
		case err != nil:
			x.NoVerdict = err.Error()
		}
	})
}

// commit returns the commit that is run, or "" outside of a checkout.
func commit(ctx context.Context) string {
	git := func(args ...string) (string, error) {
		out, err := exec.CommandContext(ctx, "git", args...).Output()
		return strings.TrimSpace(string(out)), err
	}
	id, err := git("rev-parse", "--short=12", "HEAD")
	if err != nil {
		return ""
	}
	if changed, err := git("status", "--porcelain", "--untracked-files=no"); err != nil || changed != "" {
		id += ", with changes"
	}
	return id
}
