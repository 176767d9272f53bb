package wire

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/node"
)

// seen is an observation of a server that was asked and answered at these seconds.
func seen(runID string, asked, answered float64) link.Observation {
	return link.Observation{RunID: runID, Asked: at(asked), Answered: at(answered)}
}

func TestTheProofThatThereAreSeveralServers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		observations []link.Observation
		several      bool
	}{
		"one":                          {[]link.Observation{seen("A", 0, 1), seen("A", 2, 3), seen("A", 4, 5)}, false},
		"a restart":                    {[]link.Observation{seen("A", 0, 1), seen("B", 2, 3), seen("B", 4, 5)}, false},
		"two restarts":                 {[]link.Observation{seen("A", 0, 1), seen("B", 2, 3), seen("C", 4, 5)}, false},
		"the first answers again":      {[]link.Observation{seen("A", 0, 1), seen("B", 2, 3), seen("A", 4, 5)}, true},
		"at once":                      {[]link.Observation{seen("A", 0, 1), seen("B", 2, 3), seen("A", 3, 5)}, true},
		"it was asked before":          {[]link.Observation{seen("A", 0, 1), seen("B", 2, 4), seen("A", 3, 5)}, false},
		"it was not seen before":       {[]link.Observation{seen("A", 0, 3), seen("B", 2, 4), seen("A", 5, 6)}, false},
		"it was seen at the same time": {[]link.Observation{seen("A", 0, 2), seen("B", 2, 4), seen("A", 5, 6)}, false},
		"it was not seen before, but is next": {
			[]link.Observation{seen("A", 0, 3), seen("B", 2, 4), seen("B", 5, 6), seen("A", 7, 8)}, true,
		},
		"one of three, that of the requests": {
			[]link.Observation{seen("M", 0, 1), seen("B", 2, 3), seen("C", 4, 5), seen("M", 6, 7)}, true,
		},
		"unknown": {[]link.Observation{seen("A", 0, 1), seen("", 2, 3), seen("A", 4, 5)}, false},
	} {
		s := servers{main: "M"}
		for _, x := range c.observations {
			assert.Nil(t, s.several, name)
			s.see(x)
		}
		assert.Equal(t, c.several, s.several != nil, name)
	}
}

func TestWhenTheServerOfTheRequestsIsAskedAgain(t *testing.T) {
	t.Parallel()
	var s servers
	s.see(seen("A", 0, 1))
	isNew := func(runID string) bool { s.setMain(runID); return s.claimComparison() }
	assert.True(t, isNew("A"))
	assert.False(t, isNew("A"))
	assert.False(t, isNew(""), "it is unknown")
	assert.False(t, isNew("A"))
	assert.False(t, s.doubt)
	s.see(seen("B", 2, 3))
	assert.True(t, s.doubt)
	s.see(seen("B", 4, 5))
	assert.True(t, isNew("B"))
	assert.False(t, s.doubt)
	s.see(seen("A", 6, 7))
	assert.NotNil(t, s.several)
	assert.False(t, s.doubt, "it is known")
}

// While the spare connection proves the master, the driver still asks over the main one which server answers.
func TestAComparisonKeepsTheDoubtAboutTheMainConnection(t *testing.T) {
	t.Parallel()
	for _, main := range []link.Link{nil, fakeLink{}} {
		co := newCore(main)
		co.state.servers.setMain("M")
		co.saw(seen(aServer.RunID, 0, 1))
		require.True(t, co.state.servers.doubt)
		co.beginComparison(fakeLink{})
		assert.Equal(t, main != nil, co.state.servers.doubt)
	}
}

func TestWhenThereIsOneServerAgain(t *testing.T) {
	t.Parallel()
	var s servers
	for _, x := range []link.Observation{seen("A", 0, 1), seen("B", 2, 3), seen("A", 4, 5)} {
		assert.False(t, s.due(at(9)))
		s.see(x)
	}
	assert.False(t, s.due(at(5)), "it was just seen")
	assert.True(t, s.due(at(5).Add(severalMin)))
	s.checking = true
	assert.False(t, s.due(at(9)))
	for _, x := range []struct {
		runID string
		one   bool
	}{{"A", false}, {"A", false}, {"", false}, {"A", false}, {"A", false}, {"B", false}, {"B", false}, {"B", true}} {
		assert.Equal(t, x.one, s.endCheck(x.runID, at(9)))
		assert.Equal(t, !x.one, s.several != nil)
	}

	// The pauses grow.
	s = servers{several: &node.SeveralServersError{}, backoff: severalMin}
	for range 20 {
		assert.False(t, s.endCheck("", at(9)))
	}
	assert.False(t, s.due(at(9).Add(severalMax/2-time.Nanosecond)))
	assert.True(t, s.due(at(9).Add(severalMax)))
}

// A connection that leads to the server of before the address moved is replaced, whenever the checks end.
func TestAConnectionToAServerThatIsGoneIsReplaced(t *testing.T) {
	t.Parallel()
	for _, only := range []string{aServer.RunID, "B"} {
		l := &replaceable{}
		co := newCore()
		agree := func() {
			co.state.servers = servers{
				several: &node.SeveralServersError{}, only: only, agreed: agreeingChecks - 1, backoff: severalMin,
			}
			co.endCheck(only, at(9))
		}
		moved := only != aServer.RunID
		co.connect(l)
		agree()
		assert.Equal(t, moved, l.replaced, "the main one")

		*l = replaceable{}
		co.conn = connection{state: connDialing, silentSince: at(8)}
		agree()
		co.connected(l, nil, at(10))
		assert.Equal(t, moved, l.replaced, "one that was being made")

		*l = replaceable{}
		co.conn = connection{successor: l, successorAt: at(8)}
		agree()
		co.usable(at(10), new(effects))
		assert.Equal(t, moved, l.replaced, "a successor")

		*l = replaceable{}
		co.conn = connection{state: connDialing, silentSince: at(9)}
		co.connected(l, nil, at(10))
		assert.False(t, l.replaced, "the address may have moved again")
	}
}

type replaceable struct {
	fakeLink
	replaced bool
}

func (l *replaceable) Replace() { l.replaced = true }

func TestWhenAComparisonIsOver(t *testing.T) {
	t.Parallel()
	p := newCore()
	s := &p.state.servers
	s.setMain("A")
	s.see(seen("A", 0, 1))
	assert.True(t, p.comparisonOver("A", false), "only one was seen")
	s.see(seen("B", 2, 3))
	assert.True(t, p.comparisonOver("A", true))
	assert.False(t, p.comparisonOver("A", false), "the first connection reached B")
	assert.False(t, p.comparisonOver("B", true))
	s.see(seen("A", 4, 5))
	assert.True(t, p.comparisonOver("B", true), "they are several")
	s.several, p.closing.closed = nil, true
	assert.True(t, p.comparisonOver("B", true), "the pipe is closed")
}
