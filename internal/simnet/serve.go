package simnet

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlock-go/redlock/internal/resp"
)

// call is the command that a master is executing.
type call struct {
	conn *conn
	peer *server.Peer
}

// noScript is the digest with which a client checks, when it connects, whether it may run scripts. The server neither
// counts nor reports this command, because it belongs to the handshake.
var noScript = strings.Repeat("0", 40)

// serve runs the master's end of c. The connection belongs to one life of the server.
func (m *Master) serve(c *conn, life int) {
	defer m.net.serving.Done()
	in := bufio.NewReaderSize(readerFunc(c.up.read), 1024)
	out := &outbox{conn: c}
	peer := server.NewPeer(bufio.NewWriterSize(out, 512))
	subscribed := false
	for {
		args, err := resp.ReadCommand(in)
		if errors.Is(err, resp.ErrCommand) {
			peer.WriteError("ERR Protocol error")
			peer.Flush()
			out.send()
		}
		if err != nil {
			break
		}
		cost, alive := m.execute(c, life, peer, out, args)
		if !alive {
			out.send() // the answers to what came before
			break
		}
		time.Sleep(cost)
		if name := strings.ToUpper(args[0]); name == "SUBSCRIBE" || name == "PSUBSCRIBE" {
			subscribed = true
		} else if name == "QUIT" {
			out.send()
			break
		}
		if in.Buffered() == 0 { // a whole batch is answered in one go
			out.send()
		}
	}
	m.locked(func() {
		if subscribed { // ends miniredis' goroutines for this peer
			m.redis.Server().Dispatch(peer, []string{"UNSUBSCRIBE"})
			m.redis.Server().Dispatch(peer, []string{"PUNSUBSCRIBE"})
		}
		c.abandon(io.EOF)
		delete(m.conns, c)
	})
	c.served.Store(true)
	m.net.drop(c)
}

// execute runs one command once the master is not frozen. alive is false if the server must end the connection: it is
// down, it has restarted since it accepted the connection, the connection is dead, or hangUp matches the command.
func (m *Master) execute(
	c *conn,
	life int,
	peer *server.Peer,
	out *outbox,
	args []string,
) (cost time.Duration, alive bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.frozen && m.up && m.lives == life && !c.up.isDead() {
		m.cond.Wait()
	}
	if !m.up || m.lives != life || c.up.isDead() {
		return 0, false
	}
	name := strings.ToUpper(args[0])
	handshake := name == "EVALSHA" && args[1] == noScript
	if !handshake {
		m.seen[name]++
	}
	if m.hangUp != nil && m.hangUp(args) {
		return 0, false
	}

	m.redis.SetTime(m.now())
	m.nested = ""
	m.calling = &call{conn: c, peer: peer}
	out.hold()
	if msg := m.ruled(name); msg != "" {
		peer.WriteError(msg)
	} else if blocks[name] {
		peer.WriteError("ERR this master has no " + name + ", which waits")
	} else if !m.own(peer, name, args[1:]) && !m.script(peer, name, args) {
		m.redis.Server().Dispatch(peer, args)
	}
	peer.Flush()
	m.calling = nil
	if m.nested != "" {
		out.amend(m.nested)
	}
	if handshake {
		return 0, true
	}
	return m.net.observe(Event{
		At: time.Now(), Host: c.host.name, Master: m.index, Began: m.began, Args: args, Reply: out.latest(),
	}), true
}

// hook is called for every command before miniredis executes it. The commands of clients have been handled already;
// those of scripts are handled here.
func (m *Master) hook(p *server.Peer, cmd string, args ...string) bool {
	if m.calling == nil || m.calling.peer == p {
		return false
	}
	m.nestedSeen[cmd]++
	if msg := m.ruled(cmd); msg != "" {
		m.nested = msg
		p.WriteError(msg)
		return true
	}
	return m.own(p, cmd, args)
}

// blocks are the commands that would block the master.
var blocks = map[string]bool{
	"BLPOP": true, "BRPOP": true, "BRPOPLPUSH": true, "BLMOVE": true, "BLMPOP": true, "BZPOPMIN": true, "BZPOPMAX": true,
	"XREAD": true, "XREADGROUP": true, "WAIT": true,
}

// own answers the commands that miniredis answers otherwise than Redis.
func (m *Master) own(peer *server.Peer, name string, args []string) bool {
	switch name {
	case "INFO":
		m.info(peer, args)
	case "ROLE":
		peer.Block(func(w *server.Writer) {
			w.WriteLen(3)
			w.WriteBulk("master")
			w.WriteInt(0)
			w.WriteLen(0)
		})
	default:
		return false
	}
	return true
}

// ruled returns the error that a test has set for cmd.
func (m *Master) ruled(cmd string) string {
	for i := range m.rules {
		r := &m.rules[i]
		if r.left != 0 && (r.cmds == nil || r.cmds[cmd]) {
			r.left--
			return r.msg
		}
	}
	return ""
}

// info answers INFO, because miniredis lacks the fields that clients read.
func (m *Master) info(peer *server.Peer, sections []string) {
	var refusal bytes.Buffer // NOAUTH and the like: ask for something that needs the same rights
	w := bufio.NewWriter(&refusal)
	probe := server.NewPeer(w)
	probe.Ctx = peer.Ctx
	m.redis.Server().Dispatch(probe, []string{"EXISTS", "simnet"})
	peer.Ctx = probe.Ctx
	_ = w.Flush()
	if s := refusal.String(); strings.HasPrefix(s, "-") {
		peer.WriteError(strings.TrimSpace(s[1:]))
		return
	}
	up := m.now().Unix() - m.booted.Unix() // whole seconds of the wall clock, as Redis counts
	all := []struct{ section, field, value string }{
		{"server", "redis_version", "7.0.15"},
		{"server", "server_name", ""},
		{"server", "redis_mode", "standalone"},
		{"server", "run_id", m.runID},
		{"server", "tcp_port", "6379"},
		{"server", "server_time_usec", strconv.FormatInt(m.now().UnixMicro(), 10)},
		{"server", "uptime_in_seconds", strconv.FormatInt(up, 10)},
		{"server", "uptime_in_days", strconv.FormatInt(up/86400, 10)},
		{"clients", "connected_clients", strconv.Itoa(len(m.conns))},
		{"persistence", "loading", "0"},
		{"replication", "role", "master"},
		{"replication", "connected_slaves", "0"},
		{"replication", "master_failover_state", "no-failover"},
	}
	wanted := func(section string) bool {
		for _, s := range sections {
			switch s = strings.ToLower(s); s {
			case section, "all", "default", "everything":
				return true
			}
		}
		return len(sections) == 0
	}
	var text strings.Builder
	last := ""
	for _, f := range all {
		if v, set := m.fields[f.field]; set {
			f.value = v
		}
		if f.value == "" || !wanted(f.section) {
			continue
		}
		if f.section != last {
			if last != "" {
				text.WriteString("\r\n")
			}
			fmt.Fprintf(&text, "# %s%s\r\n", strings.ToUpper(f.section[:1]), f.section[1:])
			last = f.section
		}
		fmt.Fprintf(&text, "%s:%s\r\n", f.field, f.value)
	}
	if peer.Resp3 {
		peer.WriteRaw(fmt.Sprintf("=%d\r\ntxt:%s\r\n", text.Len()+len("txt:"), text.String()))
		return
	}
	peer.WriteBulk(text.String())
}

// An outbox collects the answers of one batch. Messages published between batches are sent at once.
type outbox struct {
	conn *conn

	mu   sync.Mutex
	held bool
	buf  []byte
	mark int // where the latest command's answer begins
}

func (o *outbox) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf = append(o.buf, p...)
	if !o.held {
		o.flush()
	}
	return len(p), nil
}

// hold starts collecting the answer to a command.
func (o *outbox) hold() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held, o.mark = true, len(o.buf)
}

// send sends the collected answers.
func (o *outbox) send() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held = false
	o.flush()
}

func (o *outbox) flush() {
	if len(o.buf) > 0 {
		_, _ = o.conn.down.write(o.buf)
	}
	o.buf, o.mark = o.buf[:0], 0
}

func (o *outbox) latest() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.buf[o.mark:])
}

// amend formats the error of a script as Redis does: the code of the command's error comes first.
func (o *outbox) amend(msg string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if bytes.HasPrefix(o.buf[o.mark:], []byte("-ERR Error compiling script")) {
		o.buf = fmt.Appendf(o.buf[:o.mark], "-%s script: simnet, on @user_script:1.\r\n", msg)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
