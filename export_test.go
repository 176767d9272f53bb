package redlock

import (
	"time"

	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

// Claim is what a Locker asks the masters with, for one token.
type Claim struct {
	Kind    string
	Names   []string
	Token   string
	Intent  string
	TTL     time.Duration
	Fencing bool
	Hint    int64
}

func (c Claim) claim() *claim {
	return &claim{
		target: target{kind: c.Kind, names: c.Names}, token: c.Token, intent: c.Intent, ttl: c.TTL, fencing: c.Fencing, hint: c.Hint,
		scripts: sound,
	}
}

// Ops are the claim's operations for the quorum.
func (c Claim) Ops() quorum.Ops { return c.claim().ops() }

// Look asks what is in the way of the claim, and leaves its intent for life: a writer's always, another's where readers
// are.
func (c Claim) Look(life time.Duration) *node.Op { return c.claim().look(life) }

// Leave removes an intent, and publishes a release for the readers that it kept out. LeaveSilently publishes none.
func (c Claim) Leave() *node.Op { return c.claim().leave(true) }

// LeaveSilently takes an intent back.
func (c Claim) LeaveSilently() *node.Op { return c.claim().leave(false) }

// AcquireScript is the text of the script that acquires a lock of a kind with a fencing token.
func AcquireScript(kind string) string {
	if kind == kindMutex {
		return mutexFencedLua + commonLua + mutexAcquireLua
	}
	return commonLua + entryCommonLua + entryAcquireLua
}

// MutexOps are the operations of a mutex.
func MutexOps(name, token string, ttl time.Duration) quorum.Ops {
	return Claim{Kind: kindMutex, Names: []string{name}, Token: token, TTL: ttl}.Ops()
}

// InspectOp reads who holds a name, and InspectAloneOp one beside which no key can be.
func InspectOp(name string) *node.Op      { return sound.inspectOp(name, false) }
func InspectAloneOp(name string) *node.Op { return sound.inspectOp(name, true) }

// Sighting is what InspectOp's vote says: the kind, the fencing token, and how long each token has left.
func Sighting(v node.Vote) (kind string, fence int64, lefts map[string]time.Duration, ok bool) {
	s, ok := v.Data.(sighting)
	lefts = make(map[string]time.Duration)
	for _, h := range s.holds {
		lefts[h.token] = h.left
	}
	return s.kind, s.fence, lefts, ok
}

// Obstacle is what a denial of acquire or look says of who is in the way. Only look tells the token.
func Obstacle(v node.Vote) (kind, token string, name int, left time.Duration, ok bool) {
	o, ok := v.Data.(obstacle)
	return o.kind, o.token, o.name, o.left, ok
}

// LeftIntent reports whether a look's denial says that it left the intent.
func LeftIntent(v node.Vote) bool {
	o, _ := v.Data.(obstacle)
	return o.intent
}

// The readers of replies.
func ReadClaim(reply any, names int) node.Vote   { return readClaim(names)(reply) }
func ReadRaise(reply any, fence int64) node.Vote { return readRaise(fence)(reply) }
func ReadSighting(reply any) node.Vote           { return readSighting(reply) }

// Gather is what Inspect makes of votes, and of those of look with a majority of need.
func Gather(votes []node.Vote, need int) Holding {
	var h Holding
	answers := make([]quorum.Answer, len(votes))
	for i, v := range votes {
		answers[i] = quorum.Answer{Vote: v, Voted: true}
		h.Nodes = append(h.Nodes, nodeHolding(answers[i]))
	}
	h.gather(answers, need)
	return h
}

// Channel is where the release of a name is announced, and FenceKey and IntentKey are the keys beside it.
func Channel(name string) string { return channel(name) }

// FenceKey is where a name's fencing tokens are counted.
func FenceKey(name string) string { return fenceKey(name) }

// IntentKey is where the exclusive waiters of a name leave their intents.
func IntentKey(name string) string { return intentKey(name) }

// Slot is where a Cluster keeps a key.
func Slot(key string) uint16 { return slot(key) }

// ScoutOf says which of n masters contenders for a name ask first.
func ScoutOf(name string, n int) int { return int(hash(name) % uint64(n)) }

// StopLines keeps every line of the Locker as it is until the returned function is called.
func (l *Locker) StopLines() (goOn func()) {
	l.lines.mu.Lock()
	return l.lines.mu.Unlock
}

// OneSlot refuses names that the Cluster cluster:7000 cannot lock together.
func OneSlot(names []string) error { return oneSlot("cluster:7000", names) }

// Queue puts so many callers of Lock into the queue of a name; no master is asked. Its functions are what a denial of
// the head, a TryLock of the name, and a caller's leaving do.
func (l *Locker) Queue(name string, callers int) (deny func(), try func() (leave func()), leave func()) {
	join := func(try bool) (*line, *waiter) {
		w := &waiter{turn: make(chan turn, 1), target: mutexOf(name), cfg: &l.cfg, try: try}
		ln, _ := l.lines.join(w)
		return ln, w
	}
	ln, head := join(false)
	for range callers - 1 {
		join(false)
	}
	deny = func() {
		l.lines.refused(ln, ErrHeld)
		l.lines.mu.Lock()
		ln.refusal = nil
		l.lines.mu.Unlock()
	}
	try = func() func() {
		_, w := join(true)
		return func() { l.lines.leave(ln, w) }
	}
	return deny, try, func() { l.lines.leave(ln, head) }
}

// Released notes the release of a name of which another process has heard.
func (l *Locker) Released(name string) {
	now := l.cfg.clock.Now()
	l.lines.heard(&line{target: mutexOf(name)}, 1, now.Add(leastGap), now)
}
