//go:build unix

package main

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/election"
	"github.com/redlock-go/redlock/internal/redisproc"
)

const patience = 30 * time.Second

// write is one write that the store accepted.
type write struct {
	replica string
	fence   uint64
	at      time.Time
}

// store accepts writes whose fence is not smaller than one that it has seen.
type store struct {
	mu       sync.Mutex
	accepted []write
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fence, err := strconv.ParseUint(r.FormValue("fence"), 10, 64)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.accepted); n > 0 && fence < s.accepted[n-1].fence {
		http.Error(w, "a later leader has written", http.StatusConflict)
		return
	}
	s.accepted = append(s.accepted, write{r.FormValue("replica"), fence, time.Now()})
}

func (s *store) last() write {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.accepted) == 0 {
		return write{}
	}
	return s.accepted[len(s.accepted)-1]
}

// after waits for the first write with a larger fence.
func (s *store) after(t *testing.T, fence uint64) write {
	t.Helper()
	require.Eventually(t, func() bool { return s.last().fence > fence }, patience, time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.accepted {
		if w.fence > fence {
			return w
		}
	}
	panic("unreachable")
}

// fleet is the replicas of the service.
type fleet struct {
	t       *testing.T
	binary  string
	masters string
	store   string
	running map[string]*exec.Cmd
	address map[string]string
}

func (f *fleet) start(name string) {
	f.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(f.t, err)
	f.address[name] = l.Addr().String()
	require.NoError(f.t, l.Close())
	cmd := exec.Command(f.binary, "-name", name, "-listen", f.address[name], "-masters", f.masters, "-store", f.store)
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
		t: t, binary: filepath.Join(t.TempDir(), "replicas"), masters: strings.Join(redisproc.URLs(servers), ","), store: web.URL,
		running: map[string]*exec.Cmd{}, address: map[string]string{},
	}
	out, err := exec.Command("go", "build", "-o", f.binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, name := range []string{"web-1", "web-2", "web-3"} {
		f.start(name)
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

	s.mu.Lock()
	defer s.mu.Unlock()
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
