// Package isolated opens a view of this host in which programs change no files and reach no
// network. Their writes are stored in memory and discarded.
//
//	v, err := isolated.Open(isolated.Options{})
//	if err != nil { … }                 // the kernel does not offer it here
//	defer v.Close()
//	v.Do(func() { err = cmd.Start() })  // a program that is started in Do is in the view
//
// The view is a thread of this process with its own namespaces: mounts, host name, and network.
// Each writable file system is mounted as an overlay whose upper directory is in memory; all other
// file systems are read-only. Processes, devices, and sockets in the file system are shared with
// the host. Packets counts the packets that were sent into the network of the view, which has no
// connection.
package isolated

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Options are the settings of a View. The zero value is usable.
type Options struct {
	// Network leaves the programs in the network of the host.
	Network bool
}

// View is safe for concurrent use. The caller closes it.
type View struct {
	work chan func()
	gone chan struct{}
}

// patience is the time limit for the mounts of the host: a file system of an unreachable server
// never answers.
const patience = 20 * time.Second

// Open opens a view. It needs root privileges that are not limited to a container, and overlayfs.
// The error names the missing requirement.
func Open(o Options) (*View, error) {
	v := &View{work: make(chan func()), gone: make(chan struct{})}
	ready := make(chan error, 1)
	go v.serve(o, ready)
	select {
	case err := <-ready:
		if err != nil {
			return nil, err
		}
		return v, nil
	case <-time.After(patience):
		close(v.work)
		return nil, fmt.Errorf("a mounted file system did not answer within %s", patience)
	}
}

// serve is the thread of the view. It never unlocks the thread, so the runtime ends it, and the
// namespaces end with the last program in them.
func (v *View) serve(o Options, ready chan<- error) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		// /proc shows the namespaces of the first thread for the whole process.
		done := make(chan struct{})
		go func() { v.serve(o, ready); close(done) }()
		<-done
		runtime.UnlockOSThread()
		return
	}
	defer close(v.gone)
	if err := enter(o); err != nil {
		ready <- err
		return
	}
	ready <- nil
	for f := range v.work {
		f()
	}
}

// Do runs f on the thread of the view, and returns when f has returned. f must not wait for
// another call of Do.
func (v *View) Do(f func()) {
	done := make(chan struct{})
	v.work <- func() { defer close(done); f() }
	<-done
}

// Close ends the view. It must be called once, after the last Do.
func (v *View) Close() {
	close(v.work)
	<-v.gone
}

// enter moves the calling thread into the view.
func enter(o Options) error {
	sockets := listening() // of the host's network
	flags := unix.CLONE_NEWNS | unix.CLONE_NEWUTS
	if !o.Network {
		flags |= unix.CLONE_NEWNET
	}
	if err := unix.Unshare(flags); err != nil {
		return fmt.Errorf("this process is not allowed to create namespaces: %w", err)
	}
	// Later mounts of the host are visible in the view; mounts of the view are not visible outside.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("the mounts cannot be separated from the mounts of the host: %w", err)
	}
	if !o.Network {
		if err := startLoopback(); err != nil {
			return err
		}
	}
	if err := build(sockets); err != nil {
		return err
	}
	return forgo(unix.CAP_SYS_BOOT, unix.CAP_SYS_MODULE, unix.CAP_SYS_RAWIO, unix.CAP_SYS_TIME)
}

// forgo removes capabilities from the programs that the thread starts. Other capabilities stay: a
// guard that queries a volume, or sends signal 0, must get the same answer as root.
func forgo(capabilities ...uintptr) error {
	for _, c := range capabilities {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			return fmt.Errorf("capabilities cannot be dropped: %w", err)
		}
	}
	return nil
}

func readMounts() ([]mount, error) {
	text, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("the mounts cannot be read: %w", err)
	}
	mounts := parseMounts(string(text))
	// A mount follows its parents.
	slices.SortStableFunc(mounts, func(a, b mount) int { return strings.Compare(a.path, b.path) })
	return mounts, nil
}
