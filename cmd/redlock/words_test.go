package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/need"
	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

func TestOwnerIsTheReadablePartOfAToken(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]string{
		"web-3:8812:c7e712f4b461a02e99cf9ca0c613db0c": "web-3:8812",
		"deploy bot:c7e712f4b461a02e99cf9ca0c613db0c": `"deploy bot"`,
		"c7e712f4b461a02e99cf9ca0c613db0c":            "c7e712f4b461a02e99cf9ca0c613db0c",
		"3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy==":        "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy==",
		"host:8812":                                   "host:8812", // of another client, without a random part
		"":                                            "an unknown holder",
		"\x1b[2J":                                     `"\x1b[2J"`,
		"a\xff":                                       `"a\xff"`,
	} {
		assert.Equal(t, want, owner(token))
	}
}

func TestShort(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0:                              "0.0ms",
		40 * time.Microsecond:          "0.04ms",
		99999 * time.Nanosecond:        "0.099ms",
		450 * time.Microsecond:         "0.4ms",
		9990 * time.Microsecond:        "9.9ms",
		12 * time.Millisecond:          "12ms",
		999999 * time.Microsecond:      "999ms",
		1500 * time.Millisecond:        "1.5s",
		9999 * time.Millisecond:        "9.9s",
		12999 * time.Millisecond:       "12s",
		time.Minute:                    "1m",
		185 * time.Second:              "3m5s",
		26*time.Hour + 5*time.Minute:   "1d2h",
		30*24*time.Hour + time.Second:  "30d",
		2*time.Hour + 59*time.Second:   "2h",
		-1500 * time.Millisecond:       "-1.5s",
		time.Hour + 30*time.Minute + 1: "1h30m",
	} {
		assert.Equal(t, want, shortDuration(d), d)
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// by is a holder with a token and the seconds that it has left.
func by(token string, left float64) redlock.Holder {
	return redlock.Holder{Token: token, Left: seconds(left)}
}

// sight is what a waiter sees, so many seconds after its beginning, and the line that it then shows.
type sight struct {
	after   float64
	holding redlock.Holding
	err     error
	line    string // behind the time and the name
}

// shows checks what a waiter for "my name" shows from sight to sight.
func shows(t *testing.T, w watcher, sights ...sight) {
	t.Helper()
	w.name, w.since = "my name", time.Now()
	for _, s := range sights {
		want := "redlock: waiting " + shortDuration(seconds(s.after)) + ` for "my name": ` + s.line
		assert.Equal(t, want, w.text(w.since.Add(seconds(s.after)), s.holding, s.err))
	}
}

func TestTheWaitingLine(t *testing.T) {
	t.Parallel()
	held := func(all ...redlock.Holder) redlock.Holding { return redlock.Holding{Holders: all} }
	foreign := held(by("", -1))
	foreign.Kind = "list"
	split := redlock.Holding{Nodes: []redlock.NodeHolding{{Kind: redlock.KindMutex}, {}}}
	shows(t, watcher{},
		sight{0.5, held(by("a:1", 9.1)), nil, "held by a:1, 9.1s left unless it is extended"},
		sight{3, held(by("a:1", 9.9)), nil, "held by a:1 for 2.5s or longer, 9.9s left unless it is extended"},
		sight{4, held(by("b:2", -1)), nil, "held by b:2, without an end"},
		sight{5, redlock.Holding{}, redlock.ErrNoQuorum, "no majority of the masters answers"},
		sight{6, held(by("b:2", -1)), nil, "held by b:2, without an end"}, // it may have been another meanwhile
		// No caller extends a minimum hold.
		sight{6.5, held(by("min-hold:b:2", 9)), nil, "held by the minimum hold of b:2, 9.0s left"},
		sight{7, redlock.Holding{}, nil, "free, or between two holders"},
		sight{7.5, split, nil, "held on 1 of 2 masters, no majority by one holder"},
		// Not since the beginning of time.
		sight{7.7, foreign, nil, "held by an unknown holder (list), without an end"},
		sight{8, held(by("c", 1), by("d", 0), by("e", 0)), nil, "held by c and 2 more, 1.0s left unless it is extended"},
	)
}

// Readers come and go. The line names one reader as long as it holds the lock, and shows when the last one ends.
func TestTheWaitingLineOfSeveralHolders(t *testing.T) {
	t.Parallel()
	readers := func(all ...redlock.Holder) redlock.Holding {
		return redlock.Holding{Kind: "reader", Depth: 1, Holders: all}
	}
	writer := redlock.Holding{Kind: "writer", Depth: 1, Holders: []redlock.Holder{by("w:1", 8)}}
	twice := redlock.Holding{Kind: "reentrant", Depth: 2, Holders: []redlock.Holder{
		by("worker:0123456789abcdef0123456789abcdef", 1), by("worker:fedcba9876543210fedcba9876543210", 2),
	}}
	shows(t, watcher{},
		sight{1, readers(by("m:1", 3), by("x:1", 8)), nil, "held by m:1 and 1 more, 8.0s left unless it is extended"},
		sight{
			3, readers(by("a:1", 9), by("m:1", 1), by("x:1", 0)), nil,
			"held by m:1 and 2 more for 2.0s or longer, 9.0s left unless it is extended",
		},
		sight{4, readers(by("a:1", 8)), nil, "held by a:1, 8.0s left unless it is extended"},
		sight{5, readers(by("a:1", 1), by("b:1", -1)), nil, "held by a:1 and 1 more for 1.0s or longer, without an end"},
		sight{6, twice, nil, "held by worker (depth 2), 2.0s left unless it is extended"},
	)
	shows(t, watcher{shared: true}, // it waits for a reader because of a writer
		sight{1, readers(by("a:1", 8)), nil, "an exclusive waiter is ahead; held by a:1, 8.0s left unless it is extended"},
		sight{2, writer, nil, "held by w:1, 8.0s left unless it is extended"},
	)
	shows(t, watcher{shared: true, outer: []string{"a:1"}}, // it runs under that reader
		sight{
			1, readers(by("a:1", 8)), nil, "an exclusive waiter is ahead, and it waits for the redlock that started this " +
				"command; held by a:1, 8.0s left unless it is extended",
		},
		sight{2, readers(by("b:1", 8)), nil, "an exclusive waiter is ahead; held by b:1, 8.0s left unless it is extended"},
	)
}

// A shell reads the word of a token as that token.
func TestTokensAreWordsOfAShell(t *testing.T) {
	t.Parallel()
	words := map[string]string{
		"web-3:8812:c7e712f4b461a02e99cf9ca0c613db0c": "web-3:8812:c7e712f4b461a02e99cf9ca0c613db0c",
		"grün:a+b/c=@%,": "grün:a+b/c=@%,", "": `""`, "a b": `"a b"`, "it's;a&b": `"it's;a&b"`, "*": `"*"`,
		"a$b": "'a$b'", "`a`": "'`a`'", `a\b`: `'a\b'`, `a"b`: `'a"b'`, "a'$b!": `'a'\''$b!'`,
		"\x1b[2J'": `$'\x1b[2J\''`, "a\xff\\\"": `$'a\xff\\\"'`,
	}
	for token, word := range words {
		assert.Equal(t, word, shellWord(token))
	}
	bash, err := exec.LookPath("bash")
	need.SkipIf(t, need.Redis, err)
	for token, word := range words {
		got, err := exec.Command(bash, "-c", "printf %s "+word).Output()
		require.NoError(t, err)
		assert.Equal(t, token, string(got), word)
	}
}

func TestALineIsRedrawnWithinTheTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	width := 12
	l := line{to: &out, width: func() int { return width }}
	drawn := func() string {
		defer out.Reset()
		return out.String()
	}
	l.clear()
	assert.Empty(t, drawn(), "nothing was drawn")
	l.draw("0123456789äöü")
	assert.Equal(t, "\r0123456789…", drawn())
	l.draw("short")
	assert.Equal(t, "\rshort      ", drawn(), "the rest of a longer line is overwritten")
	l.clear()
	assert.Equal(t, "\r     \r", drawn())
	width = 0 // unknown
	l.draw("as long as it is, it is drawn")
	assert.Equal(t, "\ras long as it is, it is drawn", drawn())
}

// reply is an error reply of a server.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

func TestOutcome(t *testing.T) {
	t.Parallel()
	starting := &redlock.NodeError{Node: "h:1", Op: "acquire", Err: errors.New("LOADING the data")}
	noQuorum := func(errs ...error) error { // each on a master of its own
		all := []error{redlock.ErrNoQuorum}
		for i, err := range errs {
			all = append(all, &redlock.NodeError{Node: fmt.Sprintf("h:%d", i), Op: "acquire", Err: err})
		}
		return exitFor(errors.Join(all...))
	}
	const status, doctor = "\nredlock status shows them all", "\nredlock doctor says what to do"
	for name, tc := range map[string]struct {
		err  error
		code int
		says string
	}{
		"nothing":         {nil, 0, ""},
		"a parser's":      {errors.New("unknown flag: --x"), 64, "redlock: unknown flag: --x"},
		"a command's own": {&exit{3, nil}, 3, ""},
		"held":            {exitFor(&redlock.HeldError{Name: "n"}), 75, "redlock: n is held by another"},
		"held, by a kind": {
			exitFor(&redlock.HeldError{Name: "a b", Kind: "writer"}), 75, `redlock: "a b" is held by another (writer)`,
		},
		"lost": {exitFor(redlock.ErrLost), 70, "redlock: the lock was lost"},
		"no quorum": {
			exitFor(fmt.Errorf("x: %w: %w", redlock.ErrNoQuorum, errors.Join(starting, starting))), 69,
			"redlock: no majority of the masters answered\n  h:1  LOADING the data\nredlock status shows them all",
		},
		"full": {
			noQuorum(reply("OOM command not allowed")), 69, "h:0  OOM command not allowed" + doctor,
		},
		"a missing right":               {noQuorum(reply("NOPERM no permissions")), 69, doctor},
		"a refused script":              {noQuorum(&node.RightError{Err: reply("NOPERM x")}), 69, doctor},
		"one server twice":              {noQuorum(quorum.ErrSameServer), 69, doctor},
		"full, and down":                {noQuorum(reply("OOM"), io.EOF), 69, status},
		"starting":                      {noQuorum(reply("LOADING")), 69, status},
		"a replica":                     {noQuorum(&node.RoleError{Role: "slave"}, reply("READONLY")), 69, status},
		"INFO is refused":               {noQuorum(&node.IdentityError{Err: reply("NOPERM info")}), 69, status},
		"a refused login":               {noQuorum(fmt.Errorf("connecting: %w", reply("WRONGPASS"))), 69, status},
		"no failure is known":           {noQuorum(), 69, status},
		"held, with no majority before": {exitFor(errors.Join(redlock.ErrNoQuorum, &redlock.HeldError{Name: "n"})), 75, "n"},
		"anything else":                 {exitFor(errors.New("odd")), 64, "redlock: odd"},
		"an option":                     {usage("set WithMaxTTL to 1m0s"), 64, "redlock: set --max-ttl to 1m0s"},
		"a call":                        {usage("(redlock.WithTTL(10s), WithMaxHold)"), 64, "redlock: (--ttl, --max-hold)"},
		"a name":                        {usage(`"a \"WithTTL" of WithFencing`), 64, `redlock: "a \"WithTTL" of --fence`},
	} {
		code, says := outcome(tc.err)
		assert.Equal(t, tc.code, code, name)
		assert.Contains(t, says, tc.says, name)
		assert.Equal(t, tc.says == "", says == "", name)
	}
}

// Every option that an error of the library names has a flag, or is an option that this program does not use.
func TestOptionsInErrorsHaveFlags(t *testing.T) {
	t.Parallel()
	// Of values that the command does not pass.
	unmet := []string{"WithLogger", "WithClock", "WithName", "WithTLSConfig", "WithCredentials"}
	flags := runCommand().Flags()
	for option, flag := range flagOf {
		assert.NotNil(t, flags.Lookup(strings.TrimPrefix(flag, "--")), "%s: %s", option, flag)
	}
	quoted, options := regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"`), regexp.MustCompile(`\bWith(?:out)?[A-Z]\w*`)
	named := 0
	for _, dir := range []string{".", "node", "internal/link", "internal/wire", "quorum"} {
		files, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			code, err := os.ReadFile(file)
			require.NoError(t, err)
			text := strings.Join(quoted.FindAllString(string(code), -1), "\n")
			for _, option := range options.FindAllString(text, -1) {
				named++
				assert.True(t, flagOf[option] != "" || slices.Contains(unmet, option), "%s names %s", file, option)
			}
		}
	}
	assert.Greater(t, named, 4)
}

func TestVersionLine(t *testing.T) {
	t.Parallel()
	setting := func(k, v string) debug.BuildSetting { return debug.BuildSetting{Key: k, Value: v} }
	info := &debug.BuildInfo{Settings: []debug.BuildSetting{
		setting("vcs.revision", "0123456789abcdef0123"), setting("vcs.modified", "true"),
	}}
	info.Main.Version = "v1.2.3"
	assert.Regexp(t, `^redlock v1\.2\.3 \(0123456789ab, modified\) go\S+ \w+/\w+$`, versionLine(info))
	assert.Regexp(t, `^redlock \(devel\) go\S+ \w+/\w+$`, versionLine(nil))
}

func TestAFrameFitsTheTerminal(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text          string
		columns, rows int
		want          string
	}{
		"as it is":       {"a\nb\n", 5, 5, "\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J"},
		"nothing":        {"", 5, 5, "\x1b[H\x1b[K\n\x1b[J"},
		"a long line":    {"äbcdef\nabcde", 5, 5, "\x1b[Häbcde\x1b[K\nf\x1b[K\nabcde\x1b[K\n\x1b[J"},
		"too many lines": {"a\nb\nc\nd\n", 5, 4, "\x1b[Ha\x1b[K\nb\x1b[K\n…\x1b[K\n\x1b[J"},
		"one row":        {"a\nb\n", 1, 1, "\x1b[H…\x1b[K\n\x1b[J"},
	} {
		assert.Equal(t, tt.want, frame(tt.text, tt.columns, tt.rows), name)
	}
}
