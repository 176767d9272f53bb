package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/bench/internal/peers"
)

func TestTheHeadlineSaysWhoIsHowMuchFaster(t *testing.T) {
	t.Parallel()
	r := &Report{Latency: rows(map[string]map[int][]float64{
		peers.Redlock:     {1: {100, 110, 90}, 64: {20, 20, 20}},
		peers.Redsync:     {1: {150, 165, 135}, 64: {250, 240, 260}},
		peers.Redislock:   {1: {50, 55, 45}},
		peers.Rueidislock: {1: {101, 108, 91}},
	})}
	assert.Equal(t, []string{
		"Lock + unlock, 1 caller: redlock over 5 masters is 1.5 × as fast as redsync (5 masters), " +
			"2.0 × slower than bsm/redislock (1 master), as fast as rueidislock (1 master) within the noise.",
		"Lock + unlock, 64 callers: redlock over 5 masters is 12 × as fast as redsync (5 masters).",
	}, r.headline())

	r = onTarget()
	r.Latency = nil
	assert.Equal(t, []string{
		"One name, processes × goroutines 1 × 32: redlock is 20 × as fast as rueidislock; without hand-over it is 1.2 × " +
			"slower than rueidislock.",
		"One name, processes × goroutines 8 × 4: redlock is 20 × as fast as redsync; without hand-over it is as fast as " +
			"redsync within the noise.",
	}, r.headline())
	assert.Empty(t, (&Report{}).headline())
}

func TestTheHeadlineStandsInEveryForm(t *testing.T) {
	t.Parallel()
	r := drawable()
	require.NotEmpty(t, r.headline())
	var text, page bytes.Buffer
	r.writeTables(&text)
	require.NoError(t, r.writeHTML(&page))
	for _, line := range r.headline() {
		assert.Contains(t, text.String(), line)
		assert.Contains(t, page.String(), line)
	}
}

func TestThePeersVersionsStandInTheReport(t *testing.T) {
	t.Parallel()
	r := onTarget()
	r.Setup.Libraries = []peers.Version{{Name: "redsync", Version: "v4.18.1"}, {Name: "bsm/redislock", Version: "v0.10.0"}}
	var page, text bytes.Buffer
	require.NoError(t, r.writeHTML(&page))
	r.writeTables(&text)
	assert.Contains(t, page.String(), "redsync v4.18.1; bsm/redislock v0.10.0")
	assert.Contains(t, text.String(), "redsync v4.18.1; bsm/redislock v0.10.0")
}

func TestThePageHasContents(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	require.NoError(t, drawable().writeHTML(&b))
	for _, part := range []string{"latency", "kinds", "wan", "contention", "slots", "faults", "scale", "check"} {
		assert.Contains(t, b.String(), `<a href="#`+part+`">`)
		assert.Contains(t, b.String(), `<h2 id="`+part+`">`)
	}
}

func TestTheAxisOfATimeSaysThatItIsATime(t *testing.T) {
	t.Parallel()
	for _, p := range drawable().pictures() {
		svg := p.SVG()
		if p.Part == "faults" {
			assert.Contains(t, svg, ">time of one lock + unlock, ", p.Name)
			assert.Contains(t, svg, ">seconds since the load began<", p.Name)
		}
		if strings.HasPrefix(p.Name, "cost-") {
			assert.Contains(t, svg, ">elapsed time by pairs of all callers ", "%s: not what one pair takes", p.Name)
		}
	}
}

// A reader must not take bsm/redislock for redlock.
func TestNoPictureOrTableCallsAPeerByANameLikeOurs(t *testing.T) {
	t.Parallel()
	r := drawable()
	r.Contention = append(
		r.Contention,
		&ContentionRow{
			Shape: oneProcess, Contestant: peers.Redislock, Masters: 1, Rounds: []ContentionRound{{PerSecond: 10}},
		},
	)
	var text bytes.Buffer
	r.writeTables(&text)
	all := text.String()
	for _, p := range r.pictures() {
		all += p.SVG()
	}
	assert.Contains(t, all, "bsm/redislock, 1 master<")
	assert.NotContains(t, strings.ReplaceAll(all, "bsm/redislock", ""), "redislock")
}

func TestADotIsAMedianInEveryPicture(t *testing.T) {
	t.Parallel()
	r := drawable()
	crowd := contentionOf(r.Contention, oneProcess, peers.Redlock)
	crowd.Rounds = []ContentionRound{{PerSecond: 100}, {PerSecond: 500}, {PerSecond: 1000}}
	for _, p := range r.pictures() {
		svg := p.SVG()
		assert.Equal(t, strings.Contains(svg, "<circle"), strings.Contains(svg, "dot: median"), p.Name)
	}
	rows := r.contentionRanges()
	assert.Equal(t, []float64{100, 500, 1000}, []float64{rows[0].Low, rows[0].Median, rows[0].High})
	one := r.WAN[0].Rows[0].Rounds
	one[0].LockP50, one[0].LockP99 = 40_000, 80_000
	far := r.wanRanges()
	assert.Equal(t, []float64{1, 2}, []float64{far[0].Median, far[0].High})
}

func TestContestantsOfOnePictureDifferInColorAndInDashes(t *testing.T) {
	t.Parallel()
	classes, dashes := map[string]string{}, map[string]string{}
	for _, name := range drawn {
		s := styleOf(name)
		assert.Empty(t, classes[s.Class], "%s has the color of %s", name, classes[s.Class])
		classes[s.Class] = name
		if s.Dash != "" {
			assert.Empty(t, dashes[s.Dash], "%s has the dashes of %s", name, dashes[s.Dash])
			dashes[s.Dash] = name
		}
	}
}
