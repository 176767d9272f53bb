package doctor

import (
	"net"
	"os"
	"strings"
	"time"
)

// master is what an examination observed of one master.
type master struct {
	name, zone string
	failure    error             // why the examination failed or is incomplete
	info       map[string]string // the fields of INFO; nil: it did not answer
	config     map[string]string // the parameters of CONFIG GET
	refused    []refusal         // the questions that it did not answer
	dismissed  error             // why it refused a connection after the first

	remote, local string // the address of its host, as seen by this process and by the server; "": unknown
	user          string // of the connections
	sentinels     int    // connections of a Sentinel
	latency       []pause
	slow          []pause // of the SLOWLOG
	keys          keys
	samples       []sample
	outages       []outage
	fresh         []sighting // by connections of their own
	trial         trial
}

// refusal is a question that a master did not answer, and the reason.
type refusal struct {
	question string
	err      error
}

// pause is what blocked a server, and for how long.
type pause struct {
	what string
	took time.Duration
}

// sample is one reply to TIME, with the identity of the server that sent it.
type sample struct {
	sighting

	at         time.Time // on this host's clock, halfway between the question and the reply
	server     time.Time
	roundTrip  time.Duration
	connection int    // counts the connections; another one follows a failure
	client     string // the id of the connection on the server; "": unknown
}

// sighting is a server process that answered.
type sighting struct {
	asked, answered time.Time
	runID           string // "": unknown
}

// outage is a time in which a master gave no answer, because of err. Before and after it did.
type outage struct {
	took time.Duration
	err  error
}

// keys is what an examination observed of a master's keys.
type keys struct {
	seen    int
	more    bool     // there are keys that were not looked at
	endless []string // keys that look like locks and have no TTL, each once
	listed  map[string]bool
	// The one with the longest TTL: of locks, and of strings, which another program may have written.
	lock, likeLock timedKey
}

// timedKey is a key and the TTL that it has left.
type timedKey struct {
	name string
	left time.Duration
}

// host is what an examination observed of this host.
type host struct {
	now       time.Time
	wallGain  time.Duration // how much the wall clock gained on the monotonic clock during the examination
	hugePages string        // the setting of transparent huge pages; "": unknown
	addresses map[string]bool
}

// hugePagesFile has the kernel's setting of transparent huge pages, as in "always [madvise] never".
var hugePagesFile = "/sys/kernel/mm/transparent_hugepage/enabled"

func observeHost(began, ended time.Time) host {
	h := host{now: ended, addresses: map[string]bool{}}
	h.wallGain = ended.Round(0).Sub(began.Round(0)) - ended.Sub(began) // Round(0) removes the monotonic reading
	if text, err := os.ReadFile(hugePagesFile); err == nil {
		_, rest, _ := strings.Cut(string(text), "[")
		h.hugePages, _, _ = strings.Cut(rest, "]")
	}
	addresses, _ := net.InterfaceAddrs() // on an error only loopback addresses are known to be local
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok {
			h.addresses[n.IP.String()] = true
		}
	}
	return h
}

// local reports whether an IP address is one of this host's.
func (h host) local(ip string) bool {
	return h.addresses[ip] || loopback(ip)
}

func loopback(ip string) bool { return net.ParseIP(ip).IsLoopback() }

// parseFields returns the name=value pairs of a text, as CLIENT INFO and the values of INFO have them.
func parseFields(text, separator string) map[string]string {
	fields := make(map[string]string)
	for pair := range strings.SplitSeq(strings.TrimSpace(text), separator) {
		if key, value, ok := strings.Cut(pair, "="); ok {
			fields[key] = value
		}
	}
	return fields
}

// calls returns how often the server executed a command; "" if never. Redis 7.0 and later also count subcommands, as
// "config|set".
func (m *master) calls(command string) string {
	n := parseFields(m.info["cmdstat_"+command], ",")["calls"]
	if n == "0" {
		return ""
	}
	return n
}
