package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

var (
	errShort  = errors.New("a target was missed")
	errSlower = errors.New("slower by more than the noise")
)

// Outputs say what is done with a report.
type Outputs struct {
	Check bool // compare it with the targets
	JSON  bool // write JSON in place of tables
	// Files to write; "" leaves one out.
	Save, HTML, Pictures string
}

// Finish compares the report with the targets if Check is set, and writes it. It returns an error if a target was
// missed.
func (o Outputs) Finish(r *Report, out io.Writer) error {
	if o.Check {
		r.Checks = judge(r, r.Setup.Smoke)
	}
	if o.JSON {
		if err := r.writeJSON(out); err != nil {
			return err
		}
	} else {
		r.writeTables(out)
	}
	if err := o.write(r); err != nil {
		return err
	}
	if CountShort(r.Checks) > 0 {
		return fmt.Errorf("%w: %s", errShort, describeShort(r.Checks))
	}
	return nil
}

// write writes the files that were asked for.
func (o Outputs) write(r *Report) error {
	var all []error
	for path, write := range map[string]func(io.Writer) error{
		o.Save: r.writeJSON,
		o.HTML: r.writeHTML,
	} {
		if path == "" {
			continue
		}
		var b bytes.Buffer
		if err := write(&b); err != nil {
			all = append(all, err)
			continue
		}
		all = append(all, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, b.Bytes(), 0o644))
	}
	if o.Pictures != "" {
		all = append(all, r.writePictures(o.Pictures))
	}
	return errors.Join(all...)
}

func (r *Report) writePictures(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, p := range r.pictures() {
		if err := os.WriteFile(filepath.Join(dir, p.Name+".svg"), []byte(p.SVG()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
