package powercut

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Block is the size of an atomic write of a disk, in bytes.
const Block = 4096

const (
	opWrite = 'W'
	opZero  = 'Z' // a discarded or zeroed range
	opFlush = 'F'
)

// recordHead is an operation, an offset and a length; data follows a write.
const recordHead = 17

// Op is one entry of a disk's log.
type Op struct {
	kind byte
	off  int64
	n    int64
	data []byte // of a write
}

// Flush tells whether the entry makes all before it durable.
func (o Op) Flush() bool { return o.kind == opFlush }

// Disk is a disk of which every write is logged.
type Disk struct {
	// Path is the backing file for a loop device.
	Path    string
	dir     string
	size    int64
	content *os.File
	log     *os.File
	cmd     *exec.Cmd
}

// NewDisk serves an empty disk of size bytes below dir, an empty directory. The
// caller closes it, when nothing is mounted on it any more.
func NewDisk(dir string, size int64) (*Disk, error) {
	content, err := memory(size)
	if err != nil {
		return nil, err
	}
	return serve(dir, size, content)
}

// memory creates an anonymous file of zeros in memory.
func memory(size int64) (*os.File, error) {
	fd, err := unix.MemfdCreate("disk", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "disk")
	return f, f.Truncate(size)
}

// serve serves content, which the Disk owns from then on.
func serve(dir string, size int64, content *os.File) (*Disk, error) {
	log, err := memory(0)
	if err != nil {
		return nil, err
	}
	d := &Disk{Path: filepath.Join(dir, "disk"), dir: dir, size: size, content: content, log: log}
	d.cmd = exec.Command("/proc/self/exe", dir)
	d.cmd.Env = append(os.Environ(), envStage+"="+stageDisk)
	d.cmd.ExtraFiles = []*os.File{content, log}
	d.cmd.Stderr = os.Stderr
	// A session of its own: it outlives what a signal to the group ends.
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := d.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start a disk: %w", err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return nil, errors.Join(errors.New("cannot start a disk"), d.cmd.Wait())
	}
	return d, nil
}

// Logged is how many bytes the log has: a place in time.
func (d *Disk) Logged() (int64, error) {
	st, err := d.log.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

// Log reads the log. ends holds for each entry where in the log it ends, to be
// compared with Logged.
func (d *Disk) Log() (ops []Op, ends []int64, err error) {
	n, err := d.Logged()
	if err != nil {
		return nil, nil, err
	}
	all := make([]byte, n)
	if _, err := d.log.ReadAt(all, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	for b := all; len(b) > 0; {
		if len(b) < recordHead {
			return nil, nil, errors.New("the log of the disk ends in the middle of an entry")
		}
		o := Op{kind: b[0], off: int64(binary.LittleEndian.Uint64(b[1:])), n: int64(binary.LittleEndian.Uint64(b[9:]))}
		b = b[recordHead:]
		if o.kind == opWrite {
			o.data, b = b[:o.n], b[o.n:]
		}
		ops, ends = append(ops, o), append(ends, n-int64(len(b)))
	}
	return ops, ends, nil
}

// Close ends the disk and forgets what it held.
func (d *Disk) Close() error {
	err := unix.Unmount(d.dir, unix.MNT_DETACH)
	return errors.Join(err, d.cmd.Wait(), d.content.Close(), d.log.Close())
}
