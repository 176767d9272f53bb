package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
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

func TestTheWaitingLine(t *testing.T) {
	t.Parallel()
	start := time.Now()
	at := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	held := func(token string, left time.Duration, more ...string) redlock.Holding {
		h := redlock.Holding{Holders: []redlock.Holder{{Token: token, Left: left}}}
		for _, m := range more {
			h.Holders = append(h.Holders, redlock.Holder{Token: m})
		}
		return h
	}
	w := watcher{name: "my name", since: start}
	const head = `redlock: waiting `
	assert.Equal(t, head+`0.5s for "my name": held by a:1, 9.1s left unless it is extended`,
		strings.Replace(w.text(at(0.5), held("a:1", 9100*time.Millisecond), nil), "500ms", "0.5s", 1))
	assert.Equal(t, head+`3.0s for "my name": held by a:1 for 2.5s or longer, 9.9s left unless it is extended`,
		w.text(at(3), held("a:1", 9900*time.Millisecond), nil))
	assert.Equal(t, head+`4.0s for "my name": held by b:2, without an end`, w.text(at(4), held("b:2", -1), nil))
	assert.Equal(t, head+`5.0s for "my name": no majority of the masters answers`,
		w.text(at(5), redlock.Holding{}, redlock.ErrNoQuorum))
	assert.Equal(t, head+`6.0s for "my name": held by b:2, without an end`, w.text(at(6), held("b:2", -1), nil),
		"it may have been another meanwhile")
	assert.Equal(t, head+`6.5s for "my name": held by the minimum hold of b:2, 9.0s left`,
		w.text(at(6.5), held("min-hold:b:2", 9*time.Second), nil), "nobody extends it")
	assert.Equal(t, head+`7.0s for "my name": free, or between two holders`, w.text(at(7), redlock.Holding{}, nil))
	assert.Equal(t, head+`7.5s for "my name": held on 1 of 2 masters, no majority by one holder`,
		w.text(at(7.5), redlock.Holding{Nodes: []redlock.NodeHolding{{Kind: redlock.KindMutex}, {}}}, nil))
	foreign := held("", -1)
	foreign.Kind = "list"
	assert.Equal(t, head+`7.7s for "my name": held by an unknown holder (list), without an end`,
		w.text(at(7.7), foreign, nil), "not since the beginning of time")
	assert.Equal(t, head+`8.0s for "my name": held by c and 2 more, 1.0s left unless it is extended`,
		w.text(at(8), held("c", time.Second, "d", "e"), nil))
}

// Readers come and go. The line names one reader as long as it holds the lock, and shows when the last one ends.
func TestTheWaitingLineOfSeveralHolders(t *testing.T) {
	t.Parallel()
	start := time.Now()
	at := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	hold := func(token string, left time.Duration) redlock.Holder { return redlock.Holder{Token: token, Left: left} }
	readers := func(all ...redlock.Holder) redlock.Holding {
		return redlock.Holding{Kind: "reader", Depth: 1, Holders: all}
	}
	w := watcher{name: "doc", since: start}
	const head = `redlock: waiting `
	assert.Equal(t, head+"1.0s for doc: held by m:1 and 1 more, 8.0s left unless it is extended",
		w.text(at(1), readers(hold("m:1", 3*time.Second), hold("x:1", 8*time.Second)), nil))
	assert.Equal(t, head+"3.0s for doc: held by m:1 and 2 more for 2.0s or longer, 9.0s left unless it is extended",
		w.text(at(3), readers(hold("a:1", 9*time.Second), hold("m:1", time.Second), hold("x:1", 0)), nil))
	assert.Equal(t, head+"4.0s for doc: held by a:1, 8.0s left unless it is extended",
		w.text(at(4), readers(hold("a:1", 8*time.Second)), nil))
	assert.Equal(t, head+"5.0s for doc: held by a:1 and 1 more for 1.0s or longer, without an end",
		w.text(at(5), readers(hold("a:1", time.Second), hold("b:1", -1)), nil))
	assert.Equal(t, head+"6.0s for doc: held by worker (depth 2), 2.0s left unless it is extended",
		w.text(at(6), redlock.Holding{Kind: "reentrant", Depth: 2, Holders: []redlock.Holder{
			hold("worker:0123456789abcdef0123456789abcdef", time.Second),
			hold("worker:fedcba9876543210fedcba9876543210", 2*time.Second),
		}}, nil))

	reader := watcher{name: "doc", since: start, shared: true}
	assert.Equal(t, head+"1.0s for doc: an exclusive waiter is ahead; held by a:1, 8.0s left unless it is extended",
		reader.text(at(1), readers(hold("a:1", 8*time.Second)), nil), "it waits for a reader because of a writer")
	assert.Equal(t, head+"2.0s for doc: held by w:1, 8.0s left unless it is extended",
		reader.text(
			at(2), redlock.Holding{Kind: "writer", Depth: 1, Holders: []redlock.Holder{hold("w:1", 8*time.Second)}}, nil,
		))
}

func TestALineIsRedrawnWithinTheTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	width := 12
	l := line{to: &out, width: func() int { return width }}
	l.clear()
	assert.Empty(t, out.String(), "nothing was drawn")
	l.draw("0123456789äöü")
	assert.Equal(t, "\r0123456789…", out.String())
	out.Reset()
	l.draw("short")
	assert.Equal(t, "\rshort      ", out.String(), "the rest of a longer line is overwritten")
	out.Reset()
	l.clear()
	assert.Equal(t, "\r     \r", out.String())
	out.Reset()
	width = 0 // unknown
	l.draw("as long as it is, it is drawn")
	assert.Equal(t, "\ras long as it is, it is drawn", out.String())
}

func TestOutcome(t *testing.T) {
	t.Parallel()
	node := &redlock.NodeError{Node: "h:1", Op: "acquire", Err: errors.New("LOADING the data")}
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
			exitFor(fmt.Errorf("x: %w: %w", redlock.ErrNoQuorum, errors.Join(node, node))), 69,
			"redlock: no majority of the masters answered\n  h:1  LOADING the data\nredlock status shows them all",
		},
		"held, with no majority before": {exitFor(errors.Join(redlock.ErrNoQuorum, &redlock.HeldError{Name: "n"})), 75, "n"},
		"anything else":                 {exitFor(errors.New("odd")), 64, "redlock: odd"},
		"an option": {
			usage("set WithMaxTTL to 1m0s"), 64, "redlock: set --max-ttl to 1m0s",
		},
		"a call": {usage("(redlock.WithTTL(10s), WithMaxHold)"), 64, "redlock: (--ttl, --max-hold)"},
		"a name": {usage(`"a \"WithTTL" needs WithFencing`), 64, `redlock: "a \"WithTTL" needs --fence`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, says := outcome(tc.err)
			assert.Equal(t, tc.code, code)
			assert.Contains(t, says, tc.says)
			assert.Equal(t, tc.says == "", says == "")
		})
	}
}

// Every option that an error of the library names has a flag, or is an option that this program does not use.
func TestOptionsInErrorsHaveFlags(t *testing.T) {
	t.Parallel()
	unmet := []string{
		"WithLogger", "WithClock", "WithName", "WithTLSConfig", "WithCredentials",
	} // of values that the command does not pass
	flags := runCommand().Flags()
	for option, flag := range flagOf {
		assert.NotNil(t, flags.Lookup(strings.TrimPrefix(flag, "--")), "%s: %s", option, flag)
	}
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
			for _, text := range regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"`).FindAllString(string(code), -1) {
				for _, option := range regexp.MustCompile(`\bWith(?:out)?[A-Z]\w*`).FindAllString(text, -1) {
					named++
					assert.True(t, flagOf[option] != "" || slices.Contains(unmet, option), "%s names %s in %s", file, option, text)
				}
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
