package main

import (
	_ "embed"
	"fmt"
	"strings"
)

// known.txt lists the mutants that survive, each on a line, with the reason on the next line, after a tab. The reason
// begins with "equivalent:" if no test could kill the mutant.
//
//go:embed known.txt
var knownText string

//go:embed switches.go.txt
var switches string

// parseKnown returns the reasons by the keys of the mutants.
func parseKnown(text string) (map[string]string, error) {
	reasons := make(map[string]string)
	key := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		reason, indented := strings.CutPrefix(line, "\t")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case !indented:
			if key != "" {
				return nil, fmt.Errorf("no reason for %s", key)
			}
			if key = line; reasons[key] != "" {
				return nil, fmt.Errorf("listed twice: %s", key)
			}
		case key == "":
			return nil, fmt.Errorf("a reason without a mutant: %s", reason)
		default:
			reasons[key], key = reason, ""
		}
	}
	if key != "" {
		return nil, fmt.Errorf("no reason for %s", key)
	}
	return reasons, nil
}

func equivalent(reason string) bool { return strings.HasPrefix(reason, "equivalent:") }
