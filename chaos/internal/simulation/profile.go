package simulation

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// drift is the largest error of a clock's rate. Two clocks diverge by less than the drift budget of one percent.
const drift = 0.004

// A profile determines which faults, clients and locks a schedule may have.
type profile struct {
	name     string
	ttl      [2]time.Duration
	storm    [2]time.Duration
	faults   []string // of masters, and of the paths of all clients to them
	pathwise []string // faults of the path from one client to one master
	minority bool     // at most a minority of the masters has faults
	freezes  bool     // clients freeze
	calm     bool     // paths are only slightly slow
	// The remaining fields are optional.
	masters int                                          // number of masters; 0 for any
	move    time.Duration                                // period after which the workers move to other names
	favored []string                                     // kinds of locks that are drawn more often
	steps   bool                                         // the clients' time of day is set
	proxies bool                                         // half of its schedules put proxies before the masters
	fencing float64                                      // least share of locks with a fencing token
	client  func(r *rand.Rand, i int, c *Client)         // changes a client
	storms  func(r *rand.Rand, s Schedule) []faults.Step // returns additional faults
}

var (
	masterFaults = []string{
		faults.PauseMaster, faults.KillMaster, faults.KillMaster, RestartMaster, RefuseConnections, RefuseWrites,
		faults.FlushScripts, ResetConnections, faults.BlackHole, faults.BlackHoleCommands, faults.BlackHoleAnswers,
		SlowPath, LossyPath,
	}
	blackHoles  = []string{faults.BlackHole, faults.BlackHoleCommands, faults.BlackHoleAnswers}
	slowOrLossy = []string{SlowPath, LossyPath}
	pathFaults  = slices.Concat(blackHoles, slowOrLossy)
	evictFaults = append([]string{EvictCounters, EvictCounters, EvictCounters, faults.PauseMaster, RefuseConnections},
		pathFaults...)
	short = [2]time.Duration{500 * time.Millisecond, 3 * time.Second}
)

var profiles = []profile{
	{name: "calm", ttl: short, storm: span(3, 5), faults: []string{SlowPath, faults.FlushScripts}, calm: true},
	{name: "minority", ttl: short, storm: span(4, 8), faults: masterFaults, minority: true, steps: true},
	{name: "storm", ttl: short, storm: span(4, 8), faults: masterFaults, pathwise: pathFaults, freezes: true, steps: true},
	{
		name: "rolling restarts", ttl: short, storm: span(4, 8), storms: waves,
		faults: []string{SlowPath, LossyPath, faults.BlackHoleAnswers},
	},
	{
		name: "paused clients", ttl: short, storm: span(4, 8),
		faults: []string{faults.PauseMaster, SlowPath, RestartMaster}, pathwise: slowOrLossy, freezes: true, steps: true,
	},
	{
		name: "far away", ttl: [2]time.Duration{500 * time.Millisecond, time.Second}, storm: span(3, 5), client: greedy,
		storms: distance,
	},
	{
		name: "ghosts", ttl: span(10, 30), storm: span(5, 10),
		faults:   append([]string{faults.PauseMaster, faults.PauseMaster, ResetConnections, SlowPath}, blackHoles...),
		pathwise: pathFaults, steps: true, proxies: true,
	},
	{
		name: "dead holders", ttl: span(4, 8), storm: span(8, 12), client: mortal, storms: death,
		favored: []string{kinds.Reader, kinds.Reader, kinds.Reader, kinds.Writer},
	},
	{
		name: "evicted counters", ttl: short, storm: span(4, 8), faults: evictFaults, pathwise: slowOrLossy,
		minority: true, fencing: 0.7,
	},
	{name: "total loss", ttl: short, storm: span(6, 10), pathwise: slowOrLossy, storms: losses, fencing: 0.7},
	{
		name: "islands", ttl: [2]time.Duration{500 * time.Millisecond, 1500 * time.Millisecond}, storm: span(4, 6),
		client: loyal, storms: islands,
	},
	{
		name: "twins", ttl: short, storm: span(4, 6), masters: 3, client: twin, storms: farTwin,
		favored: []string{kinds.Reader, kinds.Reader, kinds.Reader, kinds.Writer, kinds.Writer},
	},
	{
		name: "all forgotten", ttl: [2]time.Duration{500 * time.Millisecond, 1500 * time.Millisecond}, storm: span(4, 6),
		client: settled, storms: wipes,
	},
	{
		name: "clock jumps", ttl: short, storm: span(4, 6), faults: []string{SetClock, SetClock, SlowPath},
		pathwise: slowOrLossy, steps: true, fencing: 0.7,
	},
	{
		name: "split counters", ttl: span(6, 10), storm: span(8, 10), masters: 3, move: time.Second, client: partisan,
		storms:  parties,
		favored: []string{kinds.Mutex, kinds.Mutex, kinds.Mutex, kinds.Writer}, fencing: 1,
	},
}

func span(from, to int) [2]time.Duration {
	return [2]time.Duration{time.Duration(from) * time.Second, time.Duration(to) * time.Second}
}
