package suite

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/controls"
)

// steps returns how the controls are tried. Each result is printed.
func (c *command) steps(sets []controls.Set) (steps []step) {
	for _, s := range sets {
		steps = append(steps, step{s.Title, func(ctx context.Context) (bool, error) {
			o := c.options()
			o.Dir = filepath.Join(c.dir, "controls")
			good := true
			err := s.Try(ctx, o, func(one controls.Result) { good = c.reportControl(one) && good })
			return good, err
		}})
	}
	return steps
}

// reportControl prints whether a control was caught. If it was not, it also prints how to repeat it and where to look.
func (c *command) reportControl(one controls.Result) bool {
	if one.Caught {
		fmt.Fprintf(c.out, "control %-38s caught by %s after %v, %s: %s\n",
			one.Lock, one.Checker, one.After.Round(time.Second/10), one.Where, one.Text)
		return true
	}
	c.wrong = true
	again := c.flags.again(c.flags.seed, "-control", quote(one.Lock), "-order", fmt.Sprint(c.flags.order))
	fmt.Fprintf(c.out, "control %-38s NOT CAUGHT by %s: %s\n    again: %s\n    %s\n",
		one.Lock, one.Checker, one.Text, again, one.Where)
	return false
}
