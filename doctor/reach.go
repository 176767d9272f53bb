package doctor

import (
	"fmt"
	"strings"
)

var reachRules = []rule{
	{
		id: NoAnswer, title: "does not answer", severity: Danger,
		when: "no connection, a refused login, or no answer at the end of the examination",
		why:  "It cannot vote, so fewer of the other masters may fail.",
		check: func(e *exam) (hits []hit) {
			for _, m := range e.masters {
				if m.failure != nil {
					text := m.failure.Error()
					hits = append(hits, hit{nodes: []string{m.name}, observed: text, fix: fixFor(text)})
				}
			}
			return hits
		},
	},
	{
		id: NotExamined, title: "not examined", severity: Note,
		when: "the server refused a question: CONFIG on managed services, the rights of the user",
		why:  "What these commands would have shown is unknown.",
		check: eachFix(func(_ *exam, m *master) (observed, fix string) {
			fix = "nothing, if a managed service hides these commands; otherwise remove their rename-command from redis.conf"
			for _, r := range m.refused {
				if reasonFor(r.err) == forbiddenCommand {
					fix = "run redlock doctor once as a user who may ask this: `ACL SETUSER doctor on >PASSWORD ~* &* +@all " +
						"-@dangerous +info +config|get +client +slowlog +latency +acl|whoami`"
				}
			}
			return m.described(m.refused), fix
		}),
	},
	{
		id: SomeKeysSkipped, title: "not all keys were looked at", severity: Note,
		when: fmt.Sprintf("more than %d keys, or %d pages of `SCAN`, or than could be read in the span", maxKeys, maxPages),
		why:  "Locks without an end, or with a long TTL, may be among the others.",
		fix:  "nothing; a master that has only locks has fewer keys",
		check: each(func(_ *exam, m *master) string {
			return ifSo(m.keys.more, fmt.Sprintf("%d keys were looked at", m.keys.seen))
		}),
	},
	{
		id: ForDevelopment, title: "is a master for development", severity: Note,
		when:  "`server_name` says that it is of `redlock dev` or `--embedded`. Its host, settings and keys are not examined",
		why:   "It runs in a process of redlock, keeps nothing on disk, and all of them end together.",
		fix:   "none is needed to develop; in production use redis-server, on separate hosts",
		check: each(func(_ *exam, m *master) string { return ifSo(m.develops(), "server_name is "+m.info["server_name"]) }),
	},
}

// fixes has what to do about an error of a connection, by a part of its text.
var fixes = []struct{ part, fix string }{
	{"WRONGPASS", "put the right user and password into the URL: redis://USER:PASSWORD@HOST"},
	{"NOAUTH", "put the user and the password into the URL: redis://USER:PASSWORD@HOST"},
	{"without any password", "leave the password out of the URL: the server has none"},
	{"DB index", "leave /N out of the URL, or raise databases in its redis.conf"},
	{"max number of clients", "`CONFIG SET maxclients 10000`; `CONFIG REWRITE`; `CLIENT LIST` shows who connects"},
	{"DENIED", "on its host: give it a password (requirepass), or bind and protected-mode no in a private network"},
	{"needs a port with TLS", "write redis:// instead of rediss://, or give the TLS port of the server"},
	{"not one for TLS", "write redis:// instead of rediss://, or give the TLS port of the server"},
	{"asks for TLS", "write rediss:// instead of redis://, or give the port of the server without TLS"},
	{"certificate", "--tls-ca with the CA of the server, --tls-server-name; --tls-cert and --tls-key if it asks for them"},
	{"ended the connection without", "if it asks for TLS, write rediss:// instead of redis://; otherwise see its log"},
	{"reset by peer", "if it asks for TLS, write rediss:// instead of redis://; otherwise see its log"},
	{"refused", "start it, or correct host and port in the URL"},
	{"no such host", "correct the host in the URL"},
	{"not a Redis server", "correct host and port in the URL"},
}

// fixFor returns what to do about an error of a connection.
func fixFor(text string) string {
	for _, f := range fixes {
		if strings.Contains(text, f.part) {
			return f.fix
		}
	}
	return "`redlock status`; check the address, the password, the network, and the log of the server"
}
