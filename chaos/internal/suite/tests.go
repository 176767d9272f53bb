package suite

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/exact"
)

// tests runs the Go tests that run in virtual time, of the packages of the command line, each in many orders.
func (c *command) tests(ctx context.Context) (bool, error) {
	wanted, err := regexp.Compile(c.flags.run)
	if err != nil {
		return false, err
	}
	good := true
	for _, pkg := range c.flags.tests {
		out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", pkg).Output()
		if err != nil {
			return false, fmt.Errorf("find the package %s: %w", pkg, err)
		}
		dir := strings.TrimSpace(string(out))
		names, err := exact.InVirtualTime(dir)
		if err != nil {
			return false, err
		}
		p, err := exact.OpenTest(ctx, c.say, dir)
		if err != nil {
			return false, err
		}
		begin, ran, failed := time.Now(), 0, 0
		for _, name := range names {
			if !wanted.MatchString(name) {
				continue
			}
			for order := c.flags.order; order < c.flags.order+uint64(c.flags.orders); order++ {
				if err := ctx.Err(); err != nil {
					return false, err
				}
				ran++
				text, err := p.Test(dir, "^"+name+"$", order)
				if err == nil {
					continue
				}
				failed++
				fmt.Fprintf(c.out, "%s\n%s of %s fails in order %d: %v\nagain: go run ./chaos -tests %s -run '^%s$' -order %d\n",
					text, name, pkg, order, err, pkg, name, order)
				break // the same test in more orders says little more
			}
		}
		if ran == 0 {
			return false, fmt.Errorf("%s has no test in virtual time that matches %q", pkg, c.flags.run)
		}
		fmt.Fprintf(c.out, "%-46s %d runs of tests in %v, %d tests failed\n",
			"tests of "+filepath.Base(dir), ran, time.Since(begin).Round(time.Second), failed)
		good = good && failed == 0
	}
	c.wrong = c.wrong || !good
	return good, nil
}
