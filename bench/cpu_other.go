//go:build !unix

package main

// cpuSeconds is how much CPU time this process has used; 0 where the system does not tell.
func cpuSeconds() float64 { return 0 }
