package replay

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// A Refusal is a step that the model does not allow.
type Refusal struct {
	History History
	At      int // index of the step
	// Violated says that the model allows the step, but the step violates a checked property.
	Violated bool
}

func (r *Refusal) Error() string {
	const before = 8
	var b strings.Builder
	what := "the model does not allow"
	if r.Violated {
		what = "the model allows, against its properties,"
	}
	fmt.Fprintf(&b, "%s step %d: %v\n", what, r.At, r.Step())
	for i, s := range r.History.Steps[:r.At] {
		if i == 0 || i >= r.At-before {
			fmt.Fprintf(&b, "  before it, step %d: %v\n", i, s)
		}
	}
	return b.String()
}

// Step returns the refused step.
func (r *Refusal) Step() Step { return r.History.Steps[r.At] }

// A Checker runs Spin on the model.
type Checker struct {
	// Model is the folder with replay.pml.
	Model string
	// Dir is an empty folder for Spin's files.
	Dir string
	// Without is the switch of a rule that is removed from the model, such as NO_COMPARE. "" removes none. Without a
	// rule the properties are not checked, because they do not hold.
	Without string
}

// batch is the number of steps that Spin follows at once. Its parser takes fewer than 10,000.
const batch = 5000

// Check follows the histories, which have the same number of masters. It returns a *Refusal for the first step that
// the model does not allow.
func (c Checker) Check(ctx context.Context, histories ...History) error {
	for len(histories) > 0 {
		n, steps := 0, 0
		for n < len(histories) && (n == 0 || steps+len(histories[n].Steps) <= batch) {
			steps += len(histories[n].Steps)
			n++
		}
		if err := c.check(ctx, histories[:n]); err != nil {
			return err
		}
		histories = histories[n:]
	}
	return nil
}

func (c Checker) check(ctx context.Context, histories []History) error {
	if err := c.build(ctx, histories); err != nil {
		return err
	}
	args := []string{"-E", "-m5000000", "-w20"}
	if c.Without != "" {
		args = append(args, "-A")
	}
	out, err := c.run(ctx, "./pan", args...)
	if err != nil {
		return err
	}
	for _, trouble := range []string{"out of memory", "too small", "truncated"} {
		if bytes.Contains(out, []byte(trouble)) {
			return fmt.Errorf("pan did not search everything: %s:\n%s", trouble, out)
		}
	}
	allowed := 0
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		if n, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), "allowed "); ok {
			step, err := strconv.Atoi(n)
			if err != nil {
				return fmt.Errorf("pan printed %q: %w", lines.Text(), err)
			}
			allowed = max(allowed, step)
		}
	}
	for _, h := range histories {
		if allowed < len(h.Steps) {
			return &Refusal{History: h, At: allowed, Violated: bytes.Contains(out, []byte("assertion violated"))}
		}
		allowed -= len(h.Steps)
	}
	return nil
}

// build makes pan, the program that searches the model.
func (c Checker) build(ctx context.Context, histories []History) error {
	for _, file := range []string{"replay.pml", "fencing_rules.pml"} {
		text, err := os.ReadFile(filepath.Join(c.Model, file))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(c.Dir, file), text, 0o600); err != nil {
			return err
		}
	}
	text := trace(histories[0].Masters, histories)
	if err := os.WriteFile(filepath.Join(c.Dir, "trace.pml"), []byte(text), 0o600); err != nil {
		return err
	}
	flags := []string{"-a"}
	if c.Without != "" {
		flags = append(flags, "-D"+c.Without)
	}
	if _, err := c.run(ctx, "spin", append(flags, "replay.pml")...); err != nil {
		return err
	}
	_, err := c.run(ctx, "gcc", "-w", "-O0", "-DSAFETY", "-DPRINTF", "-DVECTORSZ=100000", "-o", "pan", "pan.c")
	return err
}

func (c Checker) run(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = c.Dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w:\n%s", name, strings.Join(args, " "), err, out)
	}
	return out, nil
}
