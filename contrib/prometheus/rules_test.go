package redlockprom_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/need"
)

func TestPromtoolAcceptsTheRules(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("promtool"); err != nil {
		need.SkipIf(t, need.Prometheus, fmt.Errorf("install the package prometheus: %w", err))
	}
	for _, args := range [][]string{{"check", "rules", "rules.yml"}, {"test", "rules", "rules_test.yml"}} {
		out, err := exec.Command("promtool", args...).CombinedOutput()
		assert.NoError(t, err, "%s", out)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

// rules_test.yml has a time at which each alert fires, and one at which it does not.
func TestEveryAlertIsTested(t *testing.T) {
	t.Parallel()
	alerts := regexp.MustCompile(`(?m)^ +- alert: (\w+)$`).FindAllStringSubmatch(read(t, "rules.yml"), -1)
	require.NotEmpty(t, alerts)
	for _, alert := range alerts {
		for _, expected := range []string{` \[\]`, `\n +- exp_labels: `} {
			assert.Regexp(t, `alertname: `+alert[1]+`\n +exp_alerts:`+expected, read(t, "rules_test.yml"))
		}
	}
}

// The queries of rules and dashboard are about metrics that a Collector reports, or rules record, and about values of
// labels that these metrics have.
func TestEveryQueryFindsItsMetrics(t *testing.T) {
	t.Parallel()
	rules, metrics := read(t, "rules.yml"), read(t, "testdata/metrics.txt")
	dashboard := strings.ReplaceAll(read(t, "dashboard.json"), `\"`, `"`)
	selector := regexp.MustCompile(`\b(redlock[_:][\w:]+)(?:\{([^}]+)\})?`)
	label := regexp.MustCompile(`(\w+)[=!~]+"([^"]+)"`)
	queries := selector.FindAllStringSubmatch(rules+dashboard, -1)
	require.Greater(t, len(queries), 30)
	for _, query := range queries {
		if strings.Contains(rules, "- record: "+query[1]+"\n") {
			continue
		}
		assert.Contains(t, metrics, "\n"+query[1]+"{")
		for _, l := range label.FindAllStringSubmatch(query[2], -1) {
			for value := range strings.SplitSeq(l[2], "|") {
				if l[1] != "job" { // Prometheus adds it
					assert.Regexp(t, `(?m)^`+query[1]+`\{.*\b`+l[1]+`="`+value+`"`, metrics)
				}
			}
		}
	}
}
