package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"fettle.dev/fettle/test/campaign"
	"fettle.dev/fettle/test/hosts"
	"fettle.dev/fettle/test/sample"
)

// sick is a unit with which something is wrong, and how a run with it ends.
type sick struct {
	name  string
	unit  string   // text of its unit file; "" for none
	state string   // what the service state says; running = true where it is empty
	more  string   // further states
	says  []string // of the failure; none when the run has to do its work
	early bool     // the plan refuses already, so that nothing is begun
	after string   // ActiveState when the run was not undone; "" for any
}

const forever = "ExecStart=/bin/sleep infinity\n"

// bad is a unit that another one requires, and that fails.
const bad = `
file "bad" {
  path    = "/etc/systemd/system/bad.service"
  content = "[Service]\nType=oneshot\nExecStart=/bin/false\n"
  before  = [service.needs]
}
`

// sicklings are units under fire. Each ends in the state that is wanted, or as a
// failure that says why, with the unit's own last words.
func sicklings() []sick {
	words := "ExecStartPre=/bin/echo the last words\n"
	return []sick{
		{name: "fails", unit: "[Service]\nType=oneshot\n" + words + "ExecStart=/bin/false\n",
			says: []string{"exit-code", "status 1", "the last words"}, after: "failed"},
		{name: "hangs", unit: "[Service]\nType=notify\nTimeoutStartSec=2\n" + words + forever,
			says: []string{"timeout", "the last words"}, after: "failed"},
		{name: "endless", unit: "[Service]\nType=oneshot\n" + words + "ExecStart=/bin/sleep infinity\n",
			state: "running = true\n  timeout = \"2s\"", says: []string{"stopped waiting", "the last words"},
			after: "activating"},
		{name: "dies", unit: "[Service]\n" + words + "ExecStart=/bin/sh -c 'sleep 0.6; exit 7'\n",
			says: []string{"ended within", "status 7", "the last words"}, after: "failed"},
		{name: "flaps", unit: "[Service]\nRestart=always\nRestartSec=50ms\n" + words +
			"ExecStart=/bin/sh -c 'sleep 0.4; exit 8'\n", says: []string{"within", "the last words"}},
		{name: "loops", unit: "[Unit]\nStartLimitBurst=3\n[Service]\nRestart=always\nRestartSec=20ms\n" + words +
			"ExecStart=/bin/false\n", says: []string{"ended", "the last words"}},
		{name: "once", unit: "[Service]\nType=oneshot\nRemainAfterExit=yes\n" + words + "ExecStart=/bin/true\n",
			after: "active"},
		{name: "vanishes", unit: "[Service]\nType=oneshot\n" + words + "ExecStart=/bin/true\n",
			says: []string{"RemainAfterExit"}, after: "inactive"},
		{name: "quits", unit: "[Service]\n" + words + "ExecStart=/bin/sh -c 'sleep 0.5'\n",
			says: []string{"ended without an error", "RemainAfterExit"}, after: "inactive"},
		{name: "asleep", unit: "[Unit]\nConditionPathExists=/no/such\n[Service]\n" + forever,
			says: []string{"condition", "/no/such"}, after: "inactive"},
		{name: "broken", unit: "[Service]\nExecStart=relative\n", says: []string{"cannot start"}},
		{name: "garbage", unit: "this is not a unit file\n", says: []string{"cannot start"}},
		{name: "missing", says: []string{"there is no unit", "missing.service"}, early: true},
		{name: "needs", unit: "[Unit]\nRequires=bad.service\nAfter=bad.service\n[Service]\n" + forever, more: bad,
			says: []string{"a unit that it requires failed"}, after: "inactive"},
		{name: "deaf", unit: "[Service]\n" + forever,
			more: "file \"/etc/deaf.conf\" {\n  content = \"x\"\n  after   = [service.deaf]\n  notify  = [service.deaf.reload]\n}\n",
			says: []string{"cannot reload deaf.service"}, after: "active"},
	}
}

// repository is the sick unit as a repository.
func (s sick) repository() string {
	state := s.state
	if state == "" {
		state = "running = true"
	}
	text := ""
	if s.unit != "" {
		text = fmt.Sprintf("file \"unit\" {\n  path    = \"/etc/systemd/system/%s.service\"\n  content = %q\n}\n", s.name,
			s.unit)
		state += "\n  after   = [file.unit]"
	}
	return text + fmt.Sprintf("service %q {\n  %s\n}\n", s.name, state) + s.more
}

// TestUnitsUnderFire is one host with units that fail in every way.
func TestUnitsUnderFire(t *testing.T) {
	sample.Group(t, 8)
	t.Parallel()
	m := newMachine(t, hosts.NewWorld(t), "units", nil)
	m.write(map[string]string{"fettle.hcl": ""})
	story := func(name string, f func(*machine)) bool {
		return t.Run(name, func(t *testing.T) { f(&machine{m.Host, t}) })
	}
	points, lost := 0, 0
	for i, s := range sicklings() {
		for k, policy := range []string{"stop", "undo"} {
			if (i+k)%2 == 1 && os.Getenv("FETTLE_LONG") == "" {
				continue
			}
			points++
			if !story(s.name+"/"+policy, func(m *machine) { m.underFire(s, policy) }) {
				lost++
			}
		}
	}
	campaign.Record(t, campaign.Campaign{Name: "Units under fire", Variant: "starting", Points: points, Hit: points,
		Lost:   lost,
		Detail: "units that fail, hang, die, flap or lack a requirement; the desired state, or a failure with status and last log lines, or undone"})
	for name, f := range map[string]func(*machine){
		"HangsInStop": hangsInStop, "Masked": maskedUnit, "ComesBack": comesBack, "InterruptedStart": interruptedStart,
		"ReloadRaces": reloadRaces, "ChangedByOthers": changedByOthers, "BusAway": busAway, "BusHangs": busHangs,
		"ManagerReexecuted": reexecuted, "KilledBeforeReload": killedBeforeReload,
	} {
		story(name, f)
	}
}

// underFire applies a sick unit and looks where it ends.
func (m *machine) underFire(s sick, policy string) {
	defer m.clean(s.name)
	m.only(s.repository())
	code := success
	if s.early {
		code = failed
	} else if len(s.says) > 0 {
		code = map[string]int{"stop": failed, "undo": rolledBack}[policy]
	}
	m.says(m.fettle(code, "apply", "--yes", "--on-failure", policy), s.says...)
	active := strings.TrimSpace(m.Run(m.t, "systemctl", "show", "-P", "ActiveState", s.name))
	switch {
	case s.early:
		return
	case code == success:
		m.fettle(success, "plan")
		m.fettle(success, "drift")
	case policy == "stop":
		m.says(m.fettle(success, "show"), s.says...)
	default:
		if m.has("/etc/systemd/system/"+s.name+".service") || active != "inactive" && active != "failed" {
			m.t.Errorf("undone, it is %s and its unit file is there: %v", active,
				m.has("/etc/systemd/system/"+s.name+".service"))
		}
		return
	}
	if s.after != "" && active != s.after {
		m.t.Errorf("it is %s, want %s", active, s.after)
	}
}

// clean takes all back, so that the next story finds nothing of this one.
func (m *machine) clean(unit string) {
	m.Exec("systemctl", "stop", unit)
	m.only("")
	m.fettle(success, "apply", "--yes")
	m.Exec("systemctl", "reset-failed")
}

func service(name, text string) string {
	return sick{name: name, unit: text}.repository()
}

func hangsInStop(m *machine) {
	m.only(service("clings",
		"[Service]\nTimeoutStopSec=1\nExecStart=/bin/sh -c 'trap \"\" TERM; while :; do sleep 1; done'\n"))
	m.fettle(success, "apply", "--yes")
	m.only(strings.Replace(service("clings",
		"[Service]\nTimeoutStopSec=1\nExecStart=/bin/sh -c 'trap \"\" TERM; while :; do sleep 1; done'\n"),
		"running = true", "running = false", 1))
	m.fettle(success, "apply", "--yes")
	m.fettle(success, "plan")
	m.only(strings.Replace(service("endless",
		"[Service]\nTimeoutStopSec=infinity\nExecStart=/bin/sh -c 'trap \"\" TERM; while :; do sleep 1; done'\n"),
		"running = true", "running = true\n  timeout = \"2s\"", 1))
	m.fettle(success, "apply", "--yes")
	m.edit(repository+"/fettle.hcl", "running = true", "running = false")
	m.says(m.fettle(failed, "apply", "--yes"), "cannot stop endless.service", "stopped waiting")
	m.Run(m.t, "systemctl", "kill", "-s", "KILL", "endless")
	m.await("its end", func() bool { return m.Exec("systemctl", "is-active", "-q", "endless").ExitCode != 0 })
	m.fettle(success, "apply", "--yes")
	m.clean("endless")
}

func maskedUnit(m *machine) {
	m.WriteFile(m.t, "/usr/lib/systemd/system/veiled.service", "[Service]\n"+forever, 0o644)
	m.Run(m.t, "systemctl", "daemon-reload")
	m.Run(m.t, "systemctl", "mask", "veiled")
	m.only("service \"veiled\" { running = true }\n")
	m.says(m.fettle(failed, "apply", "--yes"), "it is masked", "masked=false")
	m.want("inactive", "systemctl", "is-active", "veiled")
	m.only("service \"veiled\" {\n  masked  = false\n  running = true\n}\n")
	m.fettle(success, "apply", "--yes")
	m.want("active", "systemctl", "is-active", "veiled")
	m.fettle(success, "rollback", "--yes", "origin")
	m.want("masked", "systemctl", "is-enabled", "veiled")
	m.want("inactive", "systemctl", "is-active", "veiled")
	m.clean("veiled")
}

// comesBack: a unit that something else starts again at once cannot be stopped.
func comesBack(m *machine) {
	m.WriteFile(m.t, "/etc/systemd/system/undead.service",
		"[Service]\n"+forever+"ExecStopPost=/bin/systemctl --no-block start undead.service\n", 0o644)
	m.Run(m.t, "systemctl", "daemon-reload")
	m.Run(m.t, "systemctl", "start", "undead")
	m.only("service \"undead\" { running = false }\n")
	m.fettle(failed, "apply", "--yes")
	m.Run(m.t, "rm", "/etc/systemd/system/undead.service")
	m.Run(m.t, "systemctl", "daemon-reload")
	m.clean("undead")
}

func interruptedStart(m *machine) {
	m.only(service("waits", "[Service]\nType=oneshot\nExecStart=/bin/sleep infinity\n"))
	p := m.begin("apply", "--yes", "--on-failure", "undo")
	m.await("the start", func() bool { return m.Exec("systemctl", "is-active", "waits").Stdout == "activating\n" })
	m.signal("TERM")
	if code := m.end(p); code != rolledBack {
		m.t.Errorf("it ended with %d", code)
	}
	if m.has("/etc/systemd/system/waits.service") || m.Exec("pgrep", "-f", "sleep infinity.*waits").ExitCode == 0 ||
		strings.Contains(m.Exec("systemctl", "is-active", "waits").Stdout, "activating") {
		m.t.Error("what was started runs on")
	}
	m.clean("waits")
}

// reloadRaces applies changes of units while somebody has systemd read all unit
// files again, without a pause.
func reloadRaces(m *machine) {
	rounds := 3
	if os.Getenv("FETTLE_LONG") != "" {
		rounds = 20
	}
	m.WriteFile(m.t, "/root/racer", "while :; do systemctl daemon-reload; done\n", 0o644)
	m.Run(m.t, "systemd-run", "--quiet", "--unit=racer", "sh", "/root/racer")
	defer m.Exec("systemctl", "stop", "racer")
	for i := range rounds {
		m.only(strings.Replace(boom, "COMMAND", fmt.Sprintf("/bin/sleep %d", 5000+i),
			1) + strings.NewReplacer("file \"unit\"", "file \"calm\"", "file.unit",
			"file.calm").Replace(service("calm",
			fmt.Sprintf("[Service]\nExecStart=/bin/sleep %d\n[Install]\nWantedBy=multi-user.target\n", 6000+i))))
		m.fettle(success, "apply", "--yes")
		m.want(fmt.Sprintf("/bin/sleep %d", 5000+i), "sh", "-c",
			`tr '\0' ' ' < /proc/$(systemctl show -P MainPID boom)/cmdline | sed 's/ $//'`)
		m.want("active", "systemctl", "is-active", "calm")
	}
	m.Run(m.t, "systemctl", "stop", "racer")
	campaign.Record(m.t, campaign.Campaign{Name: "Units under fire", Variant: "with a loop of daemon-reload",
		Points: rounds, Hit: rounds,
		Detail: "unit files are changed, units are restarted and started meanwhile; the new process is running"})
	m.clean("boom")
}

// changedByOthers: a unit file that somebody changed without telling systemd is
// read again before its unit is started.
func changedByOthers(m *machine) {
	m.WriteFile(m.t, "/etc/systemd/system/theirs.service", "[Service]\nExecStart=/bin/sleep 7001\n", 0o644)
	m.Run(m.t, "systemctl", "daemon-reload")
	m.Run(m.t, "systemctl", "show", "theirs")
	m.Run(m.t, "sed", "-i", "s/7001/7002/", "/etc/systemd/system/theirs.service")
	m.only("service \"theirs\" { running = true }\n")
	m.fettle(success, "apply", "--yes")
	m.want("/bin/sleep 7002", "sh", "-c", `tr '\0' ' ' < /proc/$(systemctl show -P MainPID theirs)/cmdline | sed 's/ $//'`)
	m.clean("theirs")
}

func busAway(m *machine) {
	m.Run(m.t, "systemctl", "mask", "--runtime", "--now", "dbus.socket", "dbus.service")
	m.only(service("quiet", "[Service]\n"+forever))
	m.fettle(success, "apply", "--yes")
	m.want("active", "systemctl", "is-active", "quiet")
	m.Run(m.t, "systemctl", "unmask", "--runtime", "dbus.socket", "dbus.service")
	m.Run(m.t, "systemctl", "start", "dbus.socket", "dbus.service")
	m.clean("quiet")
}

// busHangs stops the message bus: it answers nobody.
func busHangs(m *machine) {
	bus := strings.TrimSpace(m.Run(m.t, "systemctl", "show", "-P", "MainPID", "dbus"))
	m.Run(m.t, "kill", "-STOP", bus)
	m.only(service("quiet", "[Service]\n"+forever))
	r := m.begin("apply", "--yes")
	code := m.end(r)
	m.Run(m.t, "kill", "-CONT", bus)
	if code != success {
		m.t.Errorf("it ended with %d", code)
	}
	m.want("active", "systemctl", "is-active", "quiet")
	m.clean("quiet")
}

// reexecuted restarts systemd itself, and with it every connection, while a
// unit starts.
func reexecuted(m *machine) {
	m.Run(m.t, "rm", "-f", "/run/waits", "/run/go")
	m.only(service("gate", "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh -c '"+waits+"'\n"))
	p := m.begin("apply", "--yes")
	m.await("the start", func() bool { return m.has("/run/waits") })
	m.Run(m.t, "systemctl", "daemon-reexec")
	m.Run(m.t, "systemctl", "restart", "dbus")
	m.goOn()
	if code := m.end(p); code != success {
		m.t.Errorf("it ended with %d", code)
	}
	m.want("active", "systemctl", "is-active", "gate")
	m.clean("gate")
}

// killedBeforeReload: a run that is finished after a crash starts the unit that
// it wrote, not the one that systemd knew.
func killedBeforeReload(m *machine) {
	m.only(strings.Replace(boom, "COMMAND", "/bin/sleep 8001", 1))
	m.fettle(success, "apply", "--yes")
	m.Run(m.t, "rm", "-f", "/run/waits", "/run/go")
	hold := "exec \"hold\" {\n  command = [\"sh\", \"-c\", \"" + waits +
		"\"]\n  creates = \"/run/go\"\n  undo = [\"true\"]\n  after = [file.unit]\n  before = [service.boom]\n}\n"
	m.only(strings.Replace(boom, "COMMAND", "/bin/sleep 8002", 1) + hold)
	p := m.begin("apply", "--yes")
	m.await("the middle", func() bool { return m.has("/run/waits") || p.over() })
	m.signal("KILL")
	m.end(p)
	m.goOn()
	m.fettle(success, "recover", "--on-crash", "finish")
	m.want("/bin/sleep 8002", "sh", "-c", `tr '\0' ' ' < /proc/$(systemctl show -P MainPID boom)/cmdline | sed 's/ $//'`)
	m.clean("boom")
}
