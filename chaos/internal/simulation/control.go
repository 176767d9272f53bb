package simulation

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/aof"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/repeat"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
	"github.com/redlock-go/redlock/internal/simnet"
)

const (
	slow   = 300 * time.Millisecond // as in package proxy
	jitter = 150 * time.Millisecond
	// tail is how much of its latest writes a crashed master with appendfsync everysec loses. The simulation keeps images
	// of each master, syncs of them per tail.
	tail  = time.Second
	syncs = 4
	// copyEvery is how often a replica copies its master.
	copyEvery = 50 * time.Millisecond
)

// A trickling path passes on pieces of so many bytes, with a gap after each, as in package proxy.
const (
	piecesUp, gapUp     = 16, 2 * time.Millisecond
	piecesDown, gapDown = 4, 5 * time.Millisecond
)

// The commands, as scripts call them, that a master refuses when it is out of memory, and as a replica.
var (
	oomRefuses     = []string{"SET", "ZADD"}
	replicaRefuses = []string{"SET", "DEL", "PEXPIRE", "PEXPIREAT", "ZADD", "ZREM", "ZREMRANGEBYSCORE"}
)

// masters are the simulated masters as package faults needs them. They execute the commands of its faults, and no
// others.
type masters struct {
	world *simnet.Net
	rates []float64
	paths []*simnet.Host // hosts whose packets Packets holds back; nil: all hosts

	mu     sync.Mutex
	breaks map[int]bool           // a path that loses what it holds back, with its connections
	evicts map[int]bool           // a master that evicts when it is full
	follow map[int]*replica       // of each replica
	files  map[int][]simnet.Image // the last states of each master that were synced
}

// replica is a master that follows another one.
type replica struct {
	of   *simnet.Master
	stop chan struct{}
}

var (
	_ faults.MasterControl = (*masters)(nil)
	_ faults.ClientControl = clients{}
)

func newMasters(w *simnet.Net, rates []float64) *masters {
	return &masters{
		world: w, rates: rates, breaks: map[int]bool{}, evicts: map[int]bool{}, follow: map[int]*replica{},
		files: map[int][]simnet.Image{},
	}
}

// sync has the masters save their state until over is closed.
func (m *masters) sync(over <-chan struct{}) {
	save := func() {
		for i, master := range m.world.Masters() {
			if master.Up() {
				image := master.Image()
				m.mu.Lock()
				all := append(m.files[i], image)
				m.files[i] = all[max(0, len(all)-syncs-1):]
				m.mu.Unlock()
			}
		}
	}
	save()
	repeat.Every(tail/syncs, over, save)
}

func (m *masters) Masters() int { return len(m.world.Masters()) }

func (m *masters) Kill(_ context.Context, i int) error   { return m.do(i, (*simnet.Master).Stop) }
func (m *masters) Start(_ context.Context, i int) error  { return m.do(i, (*simnet.Master).Restart) }
func (m *masters) Freeze(_ context.Context, i int) error { return m.do(i, (*simnet.Master).Freeze) }
func (m *masters) Thaw(_ context.Context, i int) error   { return m.do(i, (*simnet.Master).Thaw) }

func (m *masters) do(i int, f func(*simnet.Master)) error {
	f(m.world.Master(i))
	return nil
}

func (m *masters) Lose(_ context.Context, i int, loss aof.Loss) error {
	switch loss {
	case aof.Everything:
		m.world.Master(i).Wipe()
	case aof.Tail:
		m.mu.Lock()
		defer m.mu.Unlock()
		if len(m.files[i]) > 0 {
			m.world.Master(i).Load(m.files[i][0])
		}
	}
	return nil
}

func (m *masters) CanLose(aof.Loss) error { return nil }

func (m *masters) Do(_ context.Context, i int, args ...any) (any, error) {
	words := make([]string, len(args))
	for n, a := range args {
		words[n] = fmt.Sprint(a)
	}
	master := m.world.Master(i)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch command := strings.Join(words[:min(2, len(words))], " "); {
	case command == "FLUSHALL":
		master.Wipe()
	case command == "SCRIPT FLUSH":
		master.FlushScripts()
	case command == "CLIENT KILL":
		master.Disconnect()
	case command == "CONFIG SET":
		m.configure(i, words[2], words[3])
	case command == "REPLICAOF NO":
		m.promote(i)
	case words[0] == "REPLICAOF":
		return nil, m.replicate(i, net.JoinHostPort(words[1], words[2]))
	case command == "ROLE":
		if m.follow[i] != nil {
			return []any{"slave", "", "", "connected"}, nil
		}
		return []any{"master"}, nil
	default:
		return nil, fmt.Errorf("the simulated masters do not know %q", words)
	}
	return "OK", nil
}

// configure handles CONFIG SET: a full master with allkeys-lru evicts its locks, and any other one refuses oomRefuses.
func (m *masters) configure(i int, setting, value string) {
	master := m.world.Master(i)
	switch {
	case setting == "maxmemory-policy":
		m.evicts[i] = value == "allkeys-lru"
	case value == "0":
		master.Recover()
	case m.evicts[i]:
		master.Wipe()
	default:
		master.Reply(replyOOM, oomRefuses...)
	}
}

// replicate makes a master the replica of the one at addr: it copies that one's keys, and refuses writes.
func (m *masters) replicate(i int, addr string) error {
	all := m.world.Masters()
	of := slices.IndexFunc(all, func(peer *simnet.Master) bool { return peer.Addr() == addr })
	if of < 0 {
		return fmt.Errorf("there is no master at %s", addr)
	}
	r := &replica{of: all[of], stop: make(chan struct{})}
	m.follow[i] = r
	all[i].Load(r.of.Image())
	all[i].Reply(replyReadOnly, replicaRefuses...)
	go repeat.Every(copyEvery, r.stop, func() { r.copyTo(all[i]) })
	return nil
}

func (r *replica) copyTo(m *simnet.Master) {
	if r.of.Up() {
		m.Load(r.of.Image())
	}
}

// promote makes a replica a master again.
func (m *masters) promote(i int) {
	if r := m.follow[i]; r != nil {
		delete(m.follow, i)
		close(r.stop)
		r.copyTo(m.world.Master(i))
		m.world.Master(i).Recover()
	}
}

func (m *masters) Peer(i int) (host, port string, err error) {
	return net.SplitHostPort(m.world.Master(i).Addr())
}

// Network acts like a proxy: when a silent path is healed, its connections break, and the data held back is lost.
func (m *masters) Network(_ context.Context, i int, c faults.Condition) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	master := m.world.Master(i)
	switch c {
	case faults.Slow:
		master.DelayWay(simnet.FromMaster, slow, 0)
	case faults.Jittery:
		master.Delay(0, jitter)
	case faults.Trickling:
		master.Trickle(simnet.ToMaster, piecesUp, gapUp)
		master.Trickle(simnet.FromMaster, piecesDown, gapDown)
	case faults.Resetting:
		master.ResetAtWrite()
	case faults.Cut:
		master.Refuse()
		master.Reset()
	case faults.Silent, faults.NoCommands, faults.NoAnswers:
		m.breaks[i] = true
		master.Cut(cuts[c]...)
	default:
		if m.breaks[i] {
			master.Reset()
		}
		delete(m.breaks, i)
		master.Link.Heal()
		master.Accept()
	}
	return nil
}

// cuts are the directions that each condition blocks. Network handles Cut by itself: a proxy refuses connections, while
// a host off its network gets no answer.
var cuts = map[faults.Condition][]simnet.Direction{
	faults.Silent: {simnet.ToMaster, simnet.FromMaster}, faults.Cut: {simnet.ToMaster, simnet.FromMaster},
	faults.NoCommands: {simnet.ToMaster}, faults.NoAnswers: {simnet.FromMaster},
}

// Packets holds back what is sent. It arrives late.
func (m *masters) Packets(_ context.Context, i int, c faults.Condition) error {
	links := []*simnet.Link{m.world.Master(i).Link}
	if m.paths != nil {
		links = nil
	}
	for _, host := range m.paths {
		links = append(links, host.To(i))
	}
	for _, l := range links {
		if directions := cuts[c]; len(directions) > 0 {
			l.Cut(directions...)
		} else {
			l.Heal()
		}
	}
	return nil
}

func (m *masters) CanPackets() error { return nil }

func (m *masters) JumpClock(_ context.Context, i int, d time.Duration) error {
	m.world.Master(i).Jump(d)
	return nil
}

func (m *masters) RunClock(_ context.Context, i int, gain float64) error {
	m.world.Master(i).Rate(m.rates[i] + gain)
	return nil
}

func (m *masters) CanMoveClocks() error { return nil }

// clients are the simulated clients as package faults needs them.
type clients struct{ *run }

func (c clients) Kill(_ context.Context, client int) error {
	c.lives[client].crash.Set(traffic.NoCrashPoint)
	c.lives[client].host.Kill()
	return nil
}

func (c clients) Start(_ context.Context, client int) error {
	c.revive(client)
	return nil
}

func (c clients) Freeze(_ context.Context, client int) error {
	c.lives[client].freeze()
	return nil
}

func (c clients) Thaw(_ context.Context, client int) error {
	if l := c.lives[client]; l.host.Frozen() {
		l.thaw()
	}
	return nil
}

func (c clients) CanFreeze() error { return nil }

func (c clients) SetCrashPoint(ctx context.Context, client int, point string) error {
	c.lives[client].crash.Set(point)
	if point == traffic.NoCrashPoint {
		return c.Thaw(ctx, client)
	}
	return nil
}

func (c clients) RunClock(_ context.Context, client int, gain float64) error {
	l := c.lives[client]
	l.host.Clock().Rate(l.settings.Rate + gain)
	return nil
}
