package powercut

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Attach attaches a loop device to a file. The kernel detaches it after the last close and unmount:
// the caller closes the returned file after it has mounted the device.
func Attach(backing *os.File) (*os.File, error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer control.Close()
	const tries = 1000
	for range tries {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fmt.Errorf("cannot get a loop device: %w", err)
		}
		dev, err := attachTo(fmt.Sprintf("/dev/loop%d", n), backing)
		if err == nil || !errors.Is(err, unix.EBUSY) {
			return dev, err
		}
	}
	return nil, errors.New("cannot get a loop device: others take every one first")
}

func attachTo(path string, backing *os.File) (*os.File, error) {
	dev, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	config := unix.LoopConfig{Fd: uint32(backing.Fd())}
	config.Info.Flags = unix.LO_FLAGS_AUTOCLEAR
	if err := unix.IoctlLoopConfigure(int(dev.Fd()), &config); err != nil {
		dev.Close()
		return nil, fmt.Errorf("cannot attach %s: %w", path, err)
	}
	return dev, nil
}
