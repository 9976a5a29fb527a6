package schema

// Facts returns the names of all facts that a target can report, sorted. The
// language checks declarations against these names, so that a misspelled fact is
// an error at its place and never hides behind a default. internal/fact observes
// the values; a test compares the two lists.
func Facts() []string {
	return []string{
		"addresses", "arch", "arch_go", "arch_kernel", "boot_id", "container", "cpus", "default_interface",
		"default_ipv4", "default_ipv6", "domain", "fqdn", "guests", "hostname", "init", "kernel", "mac_addresses",
		"machine_id", "memory_bytes", "os_codename", "os_family", "os_id", "os_major", "os_name", "os_version",
		"product", "swap_bytes", "timezone", "vendor", "virtualization",
	}
}
