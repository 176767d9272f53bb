package proxy

import "github.com/redlock-go/redlock/chaos/internal/faults"

// toxics lists the toxics of each condition, as toxiproxy reads them. A condition that is not listed has none. Upstream
// is from the clients to the master.
var toxics = map[faults.Condition][]string{
	faults.Slow: {`{"type": "latency", "stream": "downstream", "attributes": {"latency": 300}}`},
	faults.Jittery: {
		`{"type": "latency", "stream": "upstream", "attributes": {"latency": 75, "jitter": 75}}`,
		`{"type": "latency", "stream": "downstream", "attributes": {"latency": 75, "jitter": 75}}`,
	},
	faults.Trickling: {
		`{"type": "slicer", "stream": "upstream", "attributes": {"average_size": 16, "size_variation": 8, "delay": 2000}}`,
		`{"type": "slicer", "stream": "downstream", "attributes": {"average_size": 4, "size_variation": 2, "delay": 5000}}`,
	},
	faults.Resetting:  {`{"type": "reset_peer", "stream": "upstream", "attributes": {"timeout": 0}}`},
	faults.Silent:     {noCommands, noAnswers},
	faults.NoCommands: {noCommands},
	faults.NoAnswers:  {noAnswers},
}

// All bytes are dropped.
const (
	noCommands = `{"type": "timeout", "stream": "upstream", "attributes": {"timeout": 0}}`
	noAnswers  = `{"type": "timeout", "stream": "downstream", "attributes": {"timeout": 0}}`
)
