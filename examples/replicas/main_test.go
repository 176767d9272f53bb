//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/election"
	"github.com/redlock-go/redlock/internal/freeport"
	"github.com/redlock-go/redlock/internal/redisproc"
)

const (
	patience  = 30 * time.Second
	rendering = 30 * time.Millisecond // what the store needs for a report
	period    = 4 * time.Second
	keep      = time.Second
)

// clocks says how far the clocks of the replicas are behind.
var clocks = map[string]time.Duration{"web-1": 0, "web-2": 250 * time.Millisecond, "web-3": 500 * time.Millisecond}

// write is one write that the store accepted.
type write struct {
	replica string
	fence   uint64
	at      time.Time
}

// store accepts a write if its lock has not ended, and if its fence is not smaller than one that the store has seen. It
// renders reports, and records how many at the same time.
type store struct {
	mu        sync.Mutex
	accepted  []write // of the leaders
	nightly   []write
	rendering int
	most      int
	rendered  int
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fence, err := strconv.ParseUint(r.FormValue("fence"), 10, 64)
	until, err2 := strconv.ParseInt(r.FormValue("until"), 10, 64)
	if err := errors.Join(err, err2); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().Add(rendering).After(time.UnixMicro(until)) {
		http.Error(w, "the lock ends too soon", http.StatusConflict)
		return
	}
	switch r.URL.Path {
	case "/schedule":
		s.write(w, r, fence, &s.accepted)
	case "/nightly":
		s.write(w, r, fence, &s.nightly)
	case "/report":
		s.rendering++
		s.most = max(s.most, s.rendering)
		s.mu.Unlock()
		time.Sleep(rendering)
		s.mu.Lock()
		s.rendering--
		s.rendered++
	}
}

func (s *store) write(w http.ResponseWriter, r *http.Request, fence uint64, accepted *[]write) {
	if n := len(*accepted); n > 0 && fence < (*accepted)[n-1].fence {
		http.Error(w, "a later holder has written", http.StatusConflict)
		return
	}
	*accepted = append(*accepted, write{r.FormValue("replica"), fence, time.Now()})
}

func (s *store) counts() (nights, reports int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.nightly), s.rendered
}

// after waits for the first write with a larger fence.
func (s *store) after(t *testing.T, fence uint64) (first write) {
	t.Helper()
	require.Eventually(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		i := slices.IndexFunc(s.accepted, func(w write) bool { return w.fence > fence })
		if i >= 0 {
			first = s.accepted[i]
		}
		return i >= 0
	}, patience, time.Millisecond)
	return first
}

// fleet is the replicas of the service.
type fleet struct {
	t       *testing.T
	binary  string
	masters string
	store   string
	address map[string]string
	running map[string]*exec.Cmd
}

func (f *fleet) start(name string) {
	f.t.Helper()
	cmd := exec.Command(f.binary, "-name", name, "-listen", f.address[name], "-masters", f.masters, "-store", f.store,
		"-period", period.String(), "-keep", keep.String(), "-behind", clocks[name].String())
	cmd.Stderr = os.Stderr
	require.NoError(f.t, cmd.Start())
	f.running[name] = cmd
	f.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

func (f *fleet) signal(name string, s os.Signal) time.Time {
	f.t.Helper()
	require.NoError(f.t, f.running[name].Process.Signal(s))
	return time.Now()
}

// read asks a replica for reports, one after the other.
func (f *fleet) read(name string, done <-chan struct{}) {
	client := http.Client{Timeout: patience}
	for {
		if resp, err := client.Get("http://" + f.address[name] + "/report"); err == nil {
			_ = resp.Body.Close()
		}
		select {
		case <-time.After(time.Millisecond):
		case <-done:
			return
		}
	}
}

// leader asks a replica who leads.
func (f *fleet) leader(name string) (l election.Leader, ok bool) {
	resp, err := http.Get("http://" + f.address[name] + "/leader")
	if err != nil {
		return l, false
	}
	defer resp.Body.Close()
	return l, resp.StatusCode == http.StatusOK && json.NewDecoder(resp.Body).Decode(&l) == nil
}

func TestTheServiceSurvivesItsReplicas(t *testing.T) {
	t.Parallel()
	servers := redisproc.ForTest(t, 5)
	s := &store{}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	f := &fleet{
		t: t, binary: filepath.Join(t.TempDir(), "replicas"), masters: strings.Join(redisproc.URLs(servers), ","),
		store: web.URL, address: map[string]string{}, running: map[string]*exec.Cmd{},
	}
	out, err := exec.Command("go", "build", "-o", f.binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	var readers sync.WaitGroup
	done := make(chan struct{})
	for name := range clocks {
		port, err := freeport.Reserve()
		require.NoError(t, err)
		t.Cleanup(port.Release)
		f.address[name] = port.Addr()
	}
	for name := range clocks {
		f.start(name)
		for range 3 {
			readers.Go(func() { f.read(name, done) })
		}
	}

	killed := s.after(t, 0)
	at := f.signal(killed.replica, syscall.SIGKILL)
	frozen := s.after(t, killed.fence)
	t.Logf("the leader was killed: the next one wrote after %v", frozen.at.Sub(at))
	f.start(killed.replica)

	at = f.signal(frozen.replica, syscall.SIGSTOP)
	next := s.after(t, frozen.fence)
	t.Logf("the leader was frozen: the next one wrote after %v", next.at.Sub(at))
	assert.NotEqual(t, frozen.replica, next.replica)
	f.signal(frozen.replica, syscall.SIGCONT) // its late write, if any, is refused

	for _, m := range servers[:2] {
		require.NoError(t, m.Kill())
	}
	at = f.signal(next.replica, syscall.SIGTERM)
	last := s.after(t, next.fence)
	t.Logf("the leader resigned, with two of five masters dead: the next one wrote after %v", last.at.Sub(at))
	assert.NoError(t, f.running[next.replica].Wait())

	require.Eventually(t, func() bool {
		l, ok := f.leader(frozen.replica)
		return ok && l.Owner == last.replica && l.Term == last.fence
	}, patience, 10*time.Millisecond, "every replica knows the leader, also the one that was frozen")

	nights, reports := s.counts()
	require.Eventually(t, func() bool {
		n, r := s.counts()
		return n > nights && r > reports
	}, patience, 10*time.Millisecond, "with two masters and one replica dead, the others still work")
	close(done)
	readers.Wait()

	s.mu.Lock()
	defer s.mu.Unlock()
	t.Logf("%d reports, at most %d at a time; %d nightly jobs", s.rendered, s.most, len(s.nightly))
	assert.Equal(t, renderers, s.most, "as many reports at a time as the store bears")
	for i := range len(s.nightly) - 1 {
		apart := s.nightly[i+1].at.Sub(s.nightly[i].at)
		assert.Greater(t, apart, keep-100*time.Millisecond, "%v", s.nightly[i:i+2])
		assert.Greater(t, s.nightly[i+1].fence, s.nightly[i].fence)
	}
	leaders := map[uint64]string{}
	for i, w := range s.accepted {
		if i > 0 {
			assert.GreaterOrEqual(t, w.fence, s.accepted[i-1].fence)
		}
		if leaders[w.fence] == "" {
			leaders[w.fence] = w.replica
		}
		assert.Equal(t, leaders[w.fence], w.replica, "one leader a term")
	}
	assert.GreaterOrEqual(t, len(leaders), 4)
}
