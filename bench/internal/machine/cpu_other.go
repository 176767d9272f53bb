//go:build !unix

package machine

// CPUSeconds returns 0: the system does not provide the CPU time of the process.
func CPUSeconds() float64 { return 0 }
