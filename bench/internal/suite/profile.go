package suite

import (
	"errors"
	"os"
	"runtime"
	"runtime/pprof"
)

// profile starts the requested profiles. The returned function stops and writes them.
func profile(s *settings) (stop func() error, err error) {
	var cpu *os.File
	if s.cpuProfile != "" {
		if cpu, err = os.Create(s.cpuProfile); err != nil {
			return nil, err
		}
		if err := pprof.StartCPUProfile(cpu); err != nil {
			return nil, errors.Join(err, cpu.Close())
		}
	}
	if s.memProfile != "" {
		runtime.MemProfileRate = 4096 // finer than the default of 512 KB, but still cheap
	}
	return func() error {
		var all []error
		if cpu != nil {
			pprof.StopCPUProfile()
			all = append(all, cpu.Close())
		}
		if s.memProfile != "" {
			all = append(all, writeAllocations(s.memProfile))
		}
		return errors.Join(all...)
	}, nil
}

func writeAllocations(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup("allocs").WriteTo(f, 0), f.Close())
}
