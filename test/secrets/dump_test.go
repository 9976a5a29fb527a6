package secrets

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// dumps ends processes that have secrets in memory with every signal that dumps:
// the trace of each goroutine is what they say, and nobody gets a core.
func (s *site) dumps() {
	s.t.Helper()
	if !s.coresComeAtAll() {
		s.t.Log("this machine makes no cores at all: that there is none says nothing")
	}
	for _, sig := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGSEGV} {
		s.dumpOfRun(sig)
		s.dumpOfCompiler(sig)
	}
	if got := s.coreFiles(); len(got) > 0 {
		s.t.Errorf("there are cores: %v", got)
	}
}

// dumpOfRun ends a run while a command has the secrets.
func (s *site) dumpOfRun(sig syscall.Signal) {
	s.t.Helper()
	s.write("fettle.hcl", strings.ReplaceAll(`target "local" {}
directory "SRV" {}
directory "SRV/app" {}
file "SRV/app/token" { secret = "lines" }
ini_key "db.password" {
  path   = "SRV/app/db.ini"
  value  = secret("token")
  create = true
}
exec "long-SIGNAL" {
  command = ["sh", "-c", "touch SRV/begun; sleep 60"]
  env     = { TOKEN = secret("token"), ODD = secret("odd") }
  after   = [file["SRV/app/token"], ini_key["db.password"]]
}
`, "SIGNAL", strconv.Itoa(int(sig))))
	s.commit()
	c := s.core("apply", "--yes")
	s.until(filepath.Join(s.srv, "begun"))
	s.must(os.Remove(filepath.Join(s.srv, "begun")))
	s.dies(c, c.Process.Pid, sig)
	s.run("", "recover") // the command cannot be undone, which is told
}

// dumpOfCompiler ends the process that compiles while it has the secrets.
func (s *site) dumpOfCompiler(sig syscall.Signal) {
	s.t.Helper()
	s.write("fettle.hcl", `target "local" {}
locals {
  token = secret("token")
  long  = [for i in range(1000) : [for j in range(1000) : sha256("${local.token}${i}${j}")]]
}
file "SRV/x" { content = jsonencode(local.long) }
`)
	s.commit()
	c := s.core("compile")
	child := 0
	s.await("the compiler works", func() bool {
		tasks, err := filepath.Glob("/proc/" + strconv.Itoa(c.Process.Pid) + "/task/*/children")
		for _, task := range tasks {
			text, _ := os.ReadFile(task)
			for _, pid := range strings.Fields(string(text)) {
				if worked(pid) {
					child, _ = strconv.Atoi(pid)
				}
			}
		}
		return err == nil && child != 0
	})
	s.dies(c, child, sig)
}

// worked tells whether a process has used half a second of processor time: by then
// the compiler has its secret and is busy with it.
func worked(pid string) bool {
	text, _ := os.ReadFile("/proc/" + pid + "/stat")
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return false
	}
	ticks, _ := strconv.Atoi(f[11])
	return ticks >= 50
}

// core starts a command that could leave a core where the test looks for it.
func (s *site) core(args ...string) *exec.Cmd {
	s.t.Helper()
	c := s.command("", args...)
	c.Dir, c.Stdout, c.Stderr = s.cores, &s.said, &s.said
	c.Env = append(c.Env, "GOTRACEBACK=crash")
	s.commands++
	s.heard = s.said.Len() // while the command runs it writes there
	s.must(c.Start())
	s.must(unix.Prlimit(c.Process.Pid, unix.RLIMIT_CORE, &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY},
		nil))
	return c
}

// dies ends a process of a command and wants to be told.
func (s *site) dies(c *exec.Cmd, pid int, sig syscall.Signal) {
	s.t.Helper()
	s.must(syscall.Kill(pid, sig))
	_ = c.Wait()
	text := s.said.String()[s.heard:]
	if pid == c.Process.Pid && !strings.Contains(text, "goroutine ") {
		s.t.Errorf("%v: there is no dump:\n%s", sig, text)
	}
	if pid != c.Process.Pid && !strings.Contains(text, "because it can contain secrets") &&
		!strings.Contains(text, "Compiler was killed") {
		s.t.Errorf("%v: nothing is told of the compiler's end:\n%s", sig, text)
	}
}

// coresComeAtAll tells whether a process that nobody protects leaves a core.
func (s *site) coresComeAtAll() bool {
	s.t.Helper()
	c := exec.Command("sh", "-c", "ulimit -c unlimited && kill -ABRT $$")
	c.Dir = s.cores
	_ = c.Run()
	got := s.coreFiles()
	for _, p := range got {
		s.must(os.Remove(p))
	}
	return len(got) > 0
}

func (s *site) coreFiles() []string {
	s.t.Helper()
	got, err := filepath.Glob(filepath.Join(s.cores, "*"))
	s.must(err)
	return got
}

// await waits for a condition.
func (s *site) await(what string, ok func() bool) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("%s: it does not come", what)
		}
	}
}
