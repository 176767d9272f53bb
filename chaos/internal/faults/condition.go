package faults

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
