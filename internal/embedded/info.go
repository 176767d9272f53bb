package embedded

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/names"
)

// version is the version that miniredis reports in HELLO.
const version = "8.4.0"

// hook refuses commands while Refuse is in effect. It answers INFO and ROLE as a real Redis does, because miniredis
// cannot. It answers every section of INFO, so that all sections describe the same server.
func (l *life) hook(c *server.Peer, cmd string, args ...string) bool {
	if refusal := l.faults.refusal.Load(); refusal != nil && c != l.own {
		c.WriteError(*refusal)
		return true
	}
	switch cmd {
	case "INFO":
		text := l.info(args)
		if c.Resp3 {
			c.WriteRaw(fmt.Sprintf("=%d\r\ntxt:%s\r\n", len(text)+len("txt:"), text))
		} else {
			c.WriteBulk(text)
		}
	case "ROLE":
		c.Block(func(w *server.Writer) {
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

// info returns the requested sections, or all if none was requested, in a fixed order. Like Redis it leaves out unknown
// sections without an error.
func (l *life) info(asked []string) string {
	all := len(asked) == 0
	want := map[string]bool{}
	for _, a := range asked {
		section := strings.ToLower(a)
		all = all || section == "default" || section == "all" || section == "everything"
		want[section] = true
	}
	var parts []string
	for _, section := range []struct {
		name   string
		fields func() []string
	}{
		{"Server", l.serverFields},
		{"Clients", l.clientFields},
		{"Replication", l.replicationFields},
	} {
		if all || want[strings.ToLower(section.name)] {
			parts = append(parts, "# "+section.name+"\r\n"+strings.Join(section.fields(), "\r\n")+"\r\n")
		}
	}
	return strings.Join(parts, "\r\n")
}

func (l *life) serverFields() []string {
	up := l.uptime()
	_, port, _ := net.SplitHostPort(l.listener.Addr().String())
	return []string{
		"redis_version:" + version,
		"server_name:" + names.DevServer,
		"redis_mode:standalone",
		"os:" + runtime.GOOS + " " + runtime.GOARCH,
		"arch_bits:64",
		fmt.Sprint("process_id:", os.Getpid()),
		"run_id:" + l.runID,
		"tcp_port:" + port,
		fmt.Sprint("server_time_usec:", clock.System.Now().UnixMicro()),
		fmt.Sprint("uptime_in_seconds:", int64(up/time.Second)),
		fmt.Sprint("uptime_in_days:", int64(up/(24*time.Hour))),
	}
}

func (l *life) clientFields() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return []string{fmt.Sprint("connected_clients:", len(l.conns))}
}

func (l *life) replicationFields() []string {
	return []string{
		"role:master",
		"connected_slaves:0",
		"master_failover_state:no-failover",
		"master_replid:" + l.replID,
		"master_replid2:" + strings.Repeat("0", 40),
		"master_repl_offset:0",
		"second_repl_offset:-1",
	}
}
