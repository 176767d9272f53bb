package proxy

import "github.com/redlock-go/redlock/chaos/internal/faults"

const (
	up   = "upstream"   // from the clients to the master
	down = "downstream" // from the master to the clients
)

// toxics lists the toxics of each condition. A condition that is not listed has none.
var toxics = map[faults.Condition][]toxic{
	faults.Slow:    {{Type: "latency", Stream: down, Attributes: attributes{"latency": 300}}},
	faults.Jittery: {delayed(up), delayed(down)},
	faults.Trickling: {
		{Type: "slicer", Stream: up, Attributes: attributes{"average_size": 16, "size_variation": 8, "delay": 2000}},
		{Type: "slicer", Stream: down, Attributes: attributes{"average_size": 4, "size_variation": 2, "delay": 5000}},
	},
	faults.Resetting:  {{Type: "reset_peer", Stream: up, Attributes: attributes{"timeout": 0}}},
	faults.Silent:     {lost(up), lost(down)},
	faults.NoCommands: {lost(up)},
	faults.NoAnswers:  {lost(down)},
}

func delayed(stream string) toxic {
	return toxic{Type: "latency", Stream: stream, Attributes: attributes{"latency": 75, "jitter": 75}}
}

// lost drops all bytes.
func lost(stream string) toxic {
	return toxic{Type: "timeout", Stream: stream, Attributes: attributes{"timeout": 0}}
}

// A toxic is one toxic of toxiproxy.
type toxic struct {
	Type       string     `json:"type"`
	Stream     string     `json:"stream"`
	Attributes attributes `json:"attributes"`
}

type attributes map[string]int
