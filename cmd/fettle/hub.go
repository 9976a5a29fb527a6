package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"fettle.dev/fettle/internal/compile/limited"
	"fettle.dev/fettle/internal/fleet/bus/agentconn"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub"
	"fettle.dev/fettle/internal/fleet/hub/differences"
	"fettle.dev/fettle/internal/fleet/notify"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/local"
	hubcmd "fettle.dev/fettle/internal/ui/cli/hub"
	"fettle.dev/fettle/internal/ui/web"
)

// hubRole is this binary as a hub. Repositories are compiled in a child process, as in all other
// commands.
func hubRole(compiler *limited.Compiler) *hubcmd.Hub {
	return &hubcmd.Hub{
		Give: giveHub, NewAs: newHubAs, RunAs: runHubAs, Serving: serving,
		Init: func(b hub.InitOptions) ([32]byte, error) {
			return onHost(func(h *local.Host) ([32]byte, error) { b.Files = h; return hub.Init(b) })
		},
		Join: func(ctx context.Context, j hub.JoinOptions) (hub.Settings, error) {
			return onHost(func(h *local.Host) (hub.Settings, error) { j.Files = h; return hub.Join(ctx, j) })
		},
		Backup: func(dir string, state document.HubState, out io.Writer) error {
			_, err := onHost(func(h *local.Host) (any, error) { return nil, hub.WriteBackup(h, dir, state, out) })
			return err
		},
		Restore: func(dir string, in io.Reader) (hub.Settings, error) {
			return onHost(func(h *local.Host) (hub.Settings, error) { return hub.Restore(h, dir, in) })
		},
		UseNats: func(dir string, g hub.NatsSettings, begin bool) error {
			_, err := onHost(func(h *local.Host) (any, error) { return nil, hub.UseNats(h, dir, g, begin) })
			return err
		},
		RunTasks: runTasks,
		Run: func(ctx context.Context, r hubcmd.HubRun) error {
			h, err := local.Open("/", local.Options{})
			if err != nil {
				return err
			}
			defer func() { _ = h.Close() }()
			go new(gcPolicy).keep(ctx)
			log.SetOutput(&seldomLog{warn: r.Warn}) // net/http reports each failed handshake
			return hub.Run(ctx, hub.Config{
				Files: h, Dir: r.Dir, Compile: compiler, Comparer: comparer, Socket: r.Socket, Listen: listenForRoot, Now: time.Now,
				Version: versionText(), Warn: r.Warn,
				Tasks: taskClient(r.TaskSocket), Signers: signersOfHub,
				Free: freeAt, Descriptors: descriptors(), Binary: func(ctx context.Context, argv []string,
					stdin []byte) error {
					return runForNotice(ctx, h, argv, stdin)
				},
				Pages: func(p hub.Pages) http.Handler { return web.ForHub(web.HubConfig(p)) },
				Ready: func(api, bus net.Addr) { r.Ready(api, bus) }, Stopped: r.Stopped,
			})
		},
	}
}

// comparer returns a compiler with a child process of its own, because the compiler of the hub must not wait for it.
func comparer(ctx context.Context) differences.Compiler { return limited.NewPool(ctx, compileChild, 1) }

// onHost calls f with this host.
func onHost[T any](f func(*local.Host) (T, error)) (T, error) {
	h, err := local.Open("/", local.Options{})
	if err != nil {
		var none T
		return none, err
	}
	defer func() { _ = h.Close() }()
	return f(h)
}

// descriptors returns how many files this process may have open, or 0 if that is unknown.
func descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return int(min(limit.Cur, 1<<20))
}

// seldomLog is the output of the standard logger, which libraries use for errors that any client
// can cause.
type seldomLog struct {
	warn   func(string)
	mu     sync.Mutex
	seldom agentconn.Seldom
}

// Write logs one message a minute.
func (l *seldomLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text := l.seldom.Next(string(bytes.TrimSpace(p)), time.Now()); text != "" {
		l.warn(text)
	}
	return len(p), nil
}

// freeAt returns the free space on the file system of a directory, and all space that files can use,
// in bytes. Reserved space counts as neither, as in df(1).
func freeAt(dir string) (free, all uint64, err error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, 0, fmt.Errorf("cannot tell how much room there is: %w", err)
	}
	return st.Bavail * uint64(st.Bsize), (st.Blocks - st.Bfree + st.Bavail) * uint64(st.Bsize), nil
}

// runForNotice runs a program of a notification rule; its output is shown if it fails.
func runForNotice(ctx context.Context, h *local.Host, argv []string, stdin []byte) error {
	r, err := h.Run(ctx, host.Command{Argv: argv, Stdin: stdin, Timeout: notify.SendTimeout})
	switch {
	case err != nil:
		return err
	case r.TimedOut:
		return fmt.Errorf("it took longer than %s", notify.SendTimeout)
	case r.ExitCode != 0:
		return fmt.Errorf("it ended with %d: %.300s", r.ExitCode, bytes.TrimSpace(r.Stderr))
	}
	return nil
}
