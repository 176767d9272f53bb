package proxy

// Condition is the state of the network between clients and one master.
type Condition string

// The conditions.
const (
	// Fine passes everything on at once.
	Fine Condition = "fine"
	// Slow delays every answer by 300 ms: commands take effect long before the client learns of it.
	Slow Condition = "slow"
	// Jittery delays each piece of the commands and answers by a random time of up to 150 ms.
	Jittery Condition = "jittery"
	// Trickling passes a few bytes at a time, some milliseconds apart.
	Trickling Condition = "trickling"
	// Resetting accepts connections, and resets each at the first bytes that it carries.
	Resetting Condition = "resetting"
	// Cut breaks all connections and refuses new ones.
	Cut Condition = "cut"
	// Silent passes nothing in either direction, and breaks nothing.
	Silent Condition = "silent"
	// NoCommands loses every command before it reaches the master.
	NoCommands Condition = "no-commands"
	// NoAnswers loses every answer: commands arrive and take effect.
	NoAnswers Condition = "no-answers"
)

const (
	up   = "upstream"   // from the clients to the master
	down = "downstream" // from the master to the clients
)

// toxics lists the toxics of each condition. A condition that is not listed has none.
var toxics = map[Condition][]toxic{
	Slow:    {{Type: "latency", Stream: down, Attributes: attributes{"latency": 300}}},
	Jittery: {delayed(up), delayed(down)},
	Trickling: {
		{Type: "slicer", Stream: up, Attributes: attributes{"average_size": 16, "size_variation": 8, "delay": 2000}},
		{Type: "slicer", Stream: down, Attributes: attributes{"average_size": 4, "size_variation": 2, "delay": 5000}},
	},
	Resetting:  {{Type: "reset_peer", Stream: up, Attributes: attributes{"timeout": 0}}},
	Silent:     {lost(up), lost(down)},
	NoCommands: {lost(up)},
	NoAnswers:  {lost(down)},
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
