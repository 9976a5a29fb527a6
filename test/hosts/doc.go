// Package hosts boots real hosts of Debian 12 and 13 for end-to-end tests.
//
// A host is a systemd-nspawn container with its own init, network namespace,
// cgroup and file tree: an overlay over one base image that all hosts share
// and that is built once and kept in a cache. Hosts install packages from
// local repositories, so a test needs no network.
//
// NewWorldOf takes the Debian release of its hosts. NewWorld uses the release that
// FETTLE_TEST_RELEASE names (bookworm, trixie); its default is Debian 12.
//
// All hosts of a test binary live in one world: mount, network and process
// namespaces that the kernel takes down with the test binary, however it ends.
// A package that uses hosts enters its world in TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(hosts.Main(m)) }
//
//	func TestWeb(t *testing.T) {
//		w := hosts.NewWorld(t)
//		h := w.Boot(t, "web1", hosts.Options{})
//		h.Run(t, "systemctl", "is-system-running")
//	}
//
// Tests are skipped, with the reason, for a user other than root and where a
// tool is missing; with FETTLE_TEST_HOSTS=require they fail instead.
//
// These hosts have two limits. A power cut keeps the page cache, so it tests the death of every
// process and not the loss of unsynced writes. Limits of units (MemoryMax, LimitNOFILE) apply only
// as far as the machine allows them.
package hosts
