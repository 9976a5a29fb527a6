package fleet

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/ui/cli/once"
	"fettle.dev/fettle/packaging"
)

// Where the program is installed, and a package on its way.
const (
	installedBinary = "/usr/bin/fettle"
	packageOnItsWay = "/var/cache/apt/archives/fettle-enrol.deb"
)

// tokenLife is how long a token lets its one target in.
const tokenLife = 30 * time.Minute

// enrolOver is the operation of fettle target enrol on each target.
type enrolOver struct {
	hub    *client.Client
	url    string        // of the hub, as targets reach it
	pkg    string        // file of the package; "" installs this program
	file   executor.File // that, or this program, described once
	from   string        // where it is
	within time.Duration // for the hub to see the target
	adopt  bool          // the agent replaces what another repository or target applied
}

func newTargetEnrol(s *cli.Session) *cobra.Command {
	e := enrolOver{within: 2 * time.Minute}
	var many cli.ManyFlags
	c := &cobra.Command{
		Use:   "enrol -t TARGETS",
		Short: "Enrol hosts in the fleet over SSH, each with an agent",
		Long: `Enrols hosts in the fleet over SSH. On each host it logs in as the repository
configures, and installs fettle. It then enrols the host with its own token,
starts the agent, and waits until the agent connects to the hub. The target gets
the name and the labels that the repository declares.

A host needs only sshd. With --package, the Debian package of fettle is
installed. Otherwise a host that has the package keeps it. On every other host
this binary is copied to /usr/bin/fettle, and the units to
/usr/lib/systemd/system. A package that is installed later replaces these files.

You can run the command again at any time. It then continues where it stopped,
and hosts that are in the fleet already keep their identity and their labels. It
requires a login with the right admin, since labels grant access.

If another repository or target is applied on a host, for example over SSH with
its name, the agent raises an alarm and waits. With --replace-applied-state, the
first run of the agent replaces that state. The flag also works on an enrolled
host.`,
		Example: "  fettle target enrol -t 'web*'\n  fettle target enrol -t web1 --hub https://hub.example.org:7440\n  fettle target enrol -t 'label:env=prod' --package fettle_1.0_amd64.deb",
		Args:    cli.Args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return enrolMany(c.Context(), s, e, many) },
	}
	many.Flags(c)
	c.Flags().StringVar(&e.url, "hub", "", "the `URL` at which targets reach the hub (default: the URL of the login)")
	c.Flags().StringVar(&e.pkg, "package", "", "install this `FILE`, a Debian package of fettle, instead of only the binary")
	c.Flags().BoolVar(&e.adopt, "replace-applied-state", false, "let the agents replace the applied state of another repository or target, and remove what their lists do not contain")
	cli.SpanVar(c.Flags(), &e.within, "timeout", e.within, "wait at most this `DURATION` until the agent of a target connects to the hub")
	return c
}

func enrolMany(ctx context.Context, s *cli.Session, e enrolOver, many cli.ManyFlags) error {
	switch {
	case len(s.Words) == 0:
		return cli.Refuse("Run: fettle target enrol -t TARGETS", "cannot enrol: no target is named")
	case s.ConnectOpts.Via.Value == cli.ViaHub:
		return cli.Refuse("Leave --via hub out", "cannot enrol through the hub: a host without an agent is reached over SSH")
	}
	login, err := hubclient.LoginOf(s.Printer)
	if err != nil {
		return err
	}
	if e.url = cmp.Or(e.url, login.Hub); !strings.HasPrefix(e.url, "https://") {
		return cli.Refuse("Add --hub https://HOST:7440", "cannot determine the address at which targets reach the hub: the login uses a socket")
	}
	if err := e.describe(); err != nil {
		return err
	}
	if e.hub, err = hubclient.HubOf(s.Printer); err != nil {
		return err
	}
	s.ConnectOpts.Via.Value = cli.ViaSSH
	cr, err := s.TargetSet(ctx, many)
	if err != nil {
		return err
	}
	defer cr.Close()
	cr.Acts = true
	return cr.Finish("Enrolled", cr.Round(ctx, cr.Names, "Enrolling", true, e.one), map[fanout.Status]string{fanout.OK: "enrolled before", fanout.Changed: "enrolled"})
}

// describe reads the package or binary to install, once for all targets.
func (e *enrolOver) describe() (err error) {
	to, mode := packageOnItsWay, "0644"
	if e.from = e.pkg; e.pkg == "" {
		if e.from, err = os.Executable(); err != nil {
			return fmt.Errorf("cannot find this binary to copy it to targets: %w", err)
		}
		to, mode = installedBinary, "0755"
	}
	e.file, err = once.Describe(e.from)
	e.file.Path, e.file.Owner, e.file.Group, e.file.Mode = to, "root", "root", mode
	return err
}

// one enrols one target. Each step first checks the present state.
func (e enrolOver) one(ctx context.Context, m *cli.Member, x executor.Executor) cli.Outcome {
	t, err := e.begin(m, x)
	if err != nil {
		return cli.Failed(err)
	}
	if err := t.install(ctx); err != nil {
		return cli.Failed(err)
	}
	id, anew, err := t.enrol(ctx)
	if err != nil {
		return cli.Failed(err)
	}
	if e.adopt && !anew {
		if err := t.adoptEnrolled(ctx); err != nil {
			return cli.Failed(err)
		}
	}
	if err := t.start(ctx, anew || t.changed || e.adopt); err != nil {
		return cli.Failed(err)
	}
	d, err := t.seen(ctx, id)
	if err != nil {
		return cli.Failed(err)
	}
	if !anew && !t.changed && e.adopt {
		return cli.Outcome{Status: fanout.Changed, Line: "enrolled before; its agent replaces the applied state"}
	}
	if !anew && !t.changed {
		return cli.Outcome{Status: fanout.OK, Line: "enrolled before, as " + d.Target.Name}
	}
	what := "enrolled"
	if !anew {
		what = "enrolled before; its binary is newer now"
	}
	return cli.Outcome{Status: fanout.Changed, Line: what + " with " + t.with}
}

// enrolling is one target on its way into the fleet.
type enrolling struct {
	enrolOver
	m       *cli.Member
	cx      executor.Commander
	fx      executor.Files
	changed bool   // something was installed
	with    string // what: for users
}

func (e enrolOver) begin(m *cli.Member, x executor.Executor) (*enrolling, error) {
	t := &enrolling{enrolOver: e, m: m}
	var can bool
	if t.cx, can = x.(executor.Commander); can {
		t.fx, can = x.(executor.Files)
	}
	if !can {
		return nil, errors.New("cannot enrol it: it only accepts step lists")
	}
	return t, nil
}

// run runs commands on the target until one fails. The error contains the output of the failed
// command.
func (t *enrolling) run(ctx context.Context, doing string, c executor.Command) (*executor.CommandResult, error) {
	c.Action, c.Timeout = "enrol", 10*time.Minute
	res, err := t.cx.Command(ctx, c, t.m.RunOptions(), nil)
	if err == nil && !res.OK() {
		said := strings.TrimSpace(cmp.Or(res.Stderr, res.Stdout))
		if i := len(said) - 500; i > 0 {
			said = "…" + strings.ToValidUTF8(said[i:], "")
		}
		err = fmt.Errorf("cannot %s: it ended with %d: %s", doing, res.Exit, said)
	}
	return res, err
}

// holds tells whether a command that only looks succeeds.
func (t *enrolling) holds(ctx context.Context, argv ...string) (bool, string, error) {
	res, err := t.cx.Command(ctx, executor.Command{Action: "enrol", Argv: [][]string{argv}, ReadOnly: true, Timeout: time.Minute}, t.m.RunOptions(), nil)
	if err != nil {
		return false, "", err
	}
	return res.OK(), res.Stdout, nil
}

// install installs the package, or otherwise the binary and the units.
func (t *enrolling) install(ctx context.Context) error {
	if t.pkg != "" {
		return t.installPackage(ctx)
	}
	_, status, err := t.holds(ctx, "dpkg-query", "--show", "--showformat=${db:Status-Status} ${Version}", "fettle")
	if err != nil {
		return err
	}
	if version, there := strings.CutPrefix(status, "installed "); there {
		t.with = "the package " + version + " that was installed"
		return nil
	}
	t.with = "this binary in " + installedBinary
	if arch := t.arch(); arch != "" && arch != runtime.GOARCH {
		return cli.Refuse("Install a package for its architecture: --package FILE", fmt.Sprintf("cannot install this binary there: it is for %s, and the architecture of the host is %s", runtime.GOARCH, arch))
	}
	for _, name := range packaging.AgentUnits() {
		if err := t.unit(ctx, name); err != nil {
			return err
		}
	}
	return t.put(ctx, t.file, func() (io.ReadCloser, error) { return os.Open(t.from) })
}

// arch returns Go's name of the architecture of the machine, "" if it is unknown.
func (t *enrolling) arch() string {
	if t.m.Remote == nil {
		return runtime.GOARCH
	}
	v, ok := t.m.Remote.Facts()["arch_go"]
	if !ok || !v.IsKnown() || v.IsNull() || v.Type() != cty.String {
		return ""
	}
	return v.AsString()
}

// put has a file be there as it is here.
func (t *enrolling) put(ctx context.Context, f executor.File, from func() (io.ReadCloser, error)) error {
	res, err := t.fx.Put(ctx, f, from, t.m.RunOptions())
	t.changed = t.changed || err == nil && res.Changed
	return err
}

func (t *enrolling) unit(ctx context.Context, name string) error {
	text, err := packaging.Unit(name)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	f := executor.File{Path: packaging.UnitDirectory + "/" + name, Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: int64(len(text)), Owner: "root", Group: "root", Mode: "0644"}
	return t.put(ctx, f, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil })
}

func (t *enrolling) installPackage(ctx context.Context) error {
	t.with = "the package " + t.pkg[strings.LastIndexByte(t.pkg, '/')+1:]
	version := []string{"dpkg-query", "--show", "--showformat=${db:Status-Status} ${Version}", "fettle"}
	_, before, err := t.holds(ctx, version...)
	if err != nil {
		return err
	}
	if _, err := t.fx.Put(ctx, t.file, func() (io.ReadCloser, error) { return os.Open(t.from) }, t.m.RunOptions()); err != nil {
		return err
	}
	_, err = t.run(ctx, "install the package", executor.Command{Env: []string{"DEBIAN_FRONTEND=noninteractive"}, Argv: [][]string{
		{"apt-get", "install", "--quiet", "--yes", "--no-install-recommends", "--option=Dpkg::Options::=--force-confold", packageOnItsWay},
		{"rm", "--force", "--", packageOnItsWay},
	}})
	if err != nil {
		return err
	}
	_, after, err := t.holds(ctx, version...)
	t.changed = before != after
	return err
}

// enrol makes it a target, unless it is one of this fleet already.
func (t *enrolling) enrol(ctx context.Context) (id fleet.TargetID, anew bool, err error) {
	again, id, err := t.standing(ctx)
	if err != nil || id != "" {
		return id, false, err
	}
	name := t.m.Target
	tok, err := client.Post(ctx, t.hub, route.CreateToken(), document.TokenRequest{
		Labels: t.m.Entry.Labels, Names: name, Uses: 1, Expires: int64(tokenLife), Note: "fettle target enrol"})
	if err != nil {
		return "", false, err
	}
	argv := []string{installedBinary, "agent", "enrol", "--hub", t.url, "--token-file", "-", "--name", name, "--json"}
	if again {
		argv = append(argv, "--again")
	}
	if t.adopt {
		argv = append(argv, "--replace-applied-state")
	}
	res, err := t.run(ctx, "enrol it", executor.Command{Argv: [][]string{argv}, Stdin: []byte(tok.Secret + "\n"), Hide: []string{tok.Secret}})
	if err != nil {
		_, _ = client.Call(context.WithoutCancel(ctx), t.hub, route.RevokeToken(), route.TokenID{Token: tok.Token.ID},
			document.ReasonRequest{}) // it ends by itself soon
		return "", false, err
	}
	var doc agentDoc
	if err := json.Unmarshal([]byte(res.Stdout), &doc); err != nil {
		return "", false, fmt.Errorf("cannot read the result of its enrolment: %w", err)
	}
	return doc.ID, true, nil
}

// adoptEnrolled lets the agent of a target replace what is applied there.
func (t *enrolling) adoptEnrolled(ctx context.Context) error {
	_, err := t.run(ctx, "let its agent replace the applied state", executor.Command{Argv: [][]string{{installedBinary, "agent", "enrol", "--replace-applied-state"}}})
	return err
}

// standing is whether the machine is a target of this fleet: id is then its own. again
// tells that it was one, whose time is over.
func (t *enrolling) standing(ctx context.Context) (again bool, id fleet.TargetID, err error) {
	enrolled, text, err := t.holds(ctx, installedBinary, "agent", "status", "--json")
	if err != nil || !enrolled {
		return false, "", err
	}
	var doc agentDoc
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return false, "", fmt.Errorf("cannot read the status of its agent: %w", err)
	}
	d, err := client.GetAt(ctx, t.hub, route.Target(), route.TargetName{Target: string(doc.ID)})
	switch {
	case client.Missing(err):
		return false, "", cli.Refuse("If it must leave that fleet, run on the host: fettle agent enrol --again --hub URL --token-file FILE",
			fmt.Sprintf("cannot enrol it: it is a target of the fleet %q, but not of this hub", doc.Fleet))
	case err != nil:
		return false, "", err
	case d.Target.Standing == fleet.Retired || d.Target.Standing == fleet.Revoked:
		return true, "", nil
	case d.Target.Name != t.m.Target:
		return false, "", cli.Refuse("Use that name in the repository, or retire that target first: fettle target retire "+d.Target.Name,
			fmt.Sprintf("cannot enrol it: it is already in the fleet, as %s", d.Target.Name))
	}
	return false, doc.ID, nil
}

// start starts the agent now and at each boot; fresh restarts it with the present binary and identity.
func (t *enrolling) start(ctx context.Context, fresh bool) error {
	verb := "start"
	if fresh {
		verb = "restart"
	}
	_, err := t.run(ctx, "start the agent", executor.Command{Argv: [][]string{
		{"systemctl", "daemon-reload"}, {"systemctl", "enable", "--quiet", "fettle-recover.service", "fettle-agent.service"}, {"systemctl", verb, "fettle-agent.service"},
	}})
	return err
}

// seen waits until the hub has the target's connection.
func (t *enrolling) seen(ctx context.Context, id fleet.TargetID) (document.TargetDetail, error) {
	ctx, cancel := context.WithTimeout(ctx, t.within)
	defer cancel()
	for {
		d, err := client.GetAt(ctx, t.hub, route.Target(), route.TargetName{Target: string(id)})
		if err == nil && d.Target.Connected {
			return d, nil
		}
		select {
		case <-ctx.Done():
			return d, cli.WithHint(fmt.Errorf("cannot confirm the enrolment: its agent did not connect to the hub within %s", t.within), "See its log on the host: journalctl -u fettle-agent\nIt must reach the hub at "+t.url+" and at its bus, port 7441")
		case <-time.After(300 * time.Millisecond):
		}
	}
}
