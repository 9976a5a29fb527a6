package host

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/ui/cli"
)

// supportRuns is how many runs are described with their plans.
const supportRuns = 10

// NewSupportBundle builds the command support, to collect data for support, without secrets.
func NewSupportBundle(s *cli.Session) *cobra.Command {
	file := ""
	c := &cobra.Command{
		Use:   "support-bundle",
		Short: "Collect data for support, without secrets",
		Long: `Writes a tar.gz that only you can read. It contains the version, the status, the
history, and the changes of the last runs. It also contains the kinds of journal
records, facts, disk space and the state of the package database.

It never contains contents of files, before-images, lines of accounts, commands
with their environment and output, or values of settings. Its README lists
all omitted data. Review the file before you pass it on.`,
		Example: "  sudo fettle support-bundle\n  sudo fettle support-bundle -o /tmp/case-17.tar.gz",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if file == "" {
				file = "fettle-support-" + s.App.Now().UTC().Format("20060102T150405Z") + ".tar.gz"
			}
			return supportBundle(c.Context(), s, file)
		},
	}
	cli.OutputFlag(c, &file, "write to this `FILE` (default: fettle-support-TIME.tar.gz here)")
	return c
}

func supportBundle(ctx context.Context, s *cli.Session, file string) error {
	if _, err := s.Connected(ctx, s.Target); err != nil {
		return err // not the bundle of another machine
	}
	var b bundle
	b.add("README", supportReadme)
	b.document("version.json", cli.DescribeVersion(s))
	err := cli.WithExecutor(ctx, s, func(x executor.Executor) error {
		b.engine(ctx, x)
		return nil
	})
	b.failed("open the state directory", err)
	b.machine(ctx, s)
	if len(b.missing) > 0 {
		b.document("missing.json", b.missing)
	}
	if err := b.save(file, s.App.Now().Unix()); err != nil {
		return err
	}
	return s.Done("support-bundle", 0, fmt.Sprintf("Wrote %s. Review it before you share it: tar -xOzf %s | less", file,
		file))
}

// bundle collects the files of a support bundle. It notes missing data and continues.
type bundle struct {
	names   []string
	texts   map[string][]byte
	missing []string
}

func (b *bundle) add(name, text string) {
	if b.texts == nil {
		b.texts = map[string][]byte{}
	}
	b.names = append(b.names, name)
	b.texts[name] = []byte(text)
}

func (b *bundle) document(name string, doc any) {
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		b.failed("write "+name, err)
		return
	}
	b.add(name, string(text)+"\n")
}

// failed notes an error by its kind: its text can quote what a program printed.
func (b *bundle) failed(what string, err error) {
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrPermission):
		b.missing = append(b.missing, "cannot "+what+": permission denied")
	case errors.Is(err, executor.ErrLocked):
		b.missing = append(b.missing, "cannot "+what+": locked")
	default:
		b.missing = append(b.missing, "cannot "+what)
	}
}

// engine adds what the engine knows.
func (b *bundle) engine(ctx context.Context, x executor.Executor) {
	st, err := x.Status(ctx)
	b.failed("read the status", err)
	if err == nil {
		b.document("status.json", supportStatus(st))
	}
	runs, err := x.Runs(ctx)
	b.failed("read the history", err)
	log := []supportRun{}
	for _, r := range runs {
		log = append(log, supportRunOf(r))
	}
	b.document("log.json", log)
	for _, r := range runs[max(0, len(runs)-supportRuns):] {
		run := r.Header.Run
		shown, err := x.Show(ctx, run)
		b.failed(fmt.Sprintf("read run %d", run), err)
		if err == nil {
			b.document(fmt.Sprintf("runs/%06d.json", run), supportShown(shown))
		}
	}
}

// machine adds the data of the machine.
func (b *bundle) machine(ctx context.Context, s *cli.Session) {
	m, err := s.Machine()
	b.failed("find the host", err)
	if err != nil {
		return
	}
	var facts map[string]cty.Value
	if s.Remote != nil {
		facts = s.Remote.Facts()
	} else if facts, err = s.App.Facts(ctx, m); err != nil {
		b.failed("gather facts", err)
	}
	if facts != nil {
		b.document("facts.json", factsJSON(facts))
	}
	if s.Remote != nil {
		b.missing = append(b.missing, "only fettle on the host itself collects the kinds of records, disk space and packages")
		return
	}
	if s.App.Support == nil {
		return
	}
	sup := s.App.Support(ctx, m)
	b.document("journals.json", sup.Records)
	for _, name := range cli.SortedNames(sup.Outputs) {
		b.add(name+".txt", sup.Outputs[name])
	}
	b.missing = append(b.missing, sup.Missing...)
}

// save writes the archive to a new file that only its owner can read.
func (b *bundle) save(file string, now int64) (err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return cli.Refuse("Name another: -o FILE", fmt.Sprintf("cannot write the bundle to %q: it already exists", file))
	}
	if err != nil {
		return fmt.Errorf("cannot write the bundle: %w", err)
	}
	err = b.write(f, now)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = os.Remove(file)
		return fmt.Errorf("cannot write the bundle: %w", err)
	}
	return nil
}

func (b *bundle) write(w io.Writer, now int64) error {
	z := gzip.NewWriter(w)
	t := tar.NewWriter(z)
	slices.Sort(b.names)
	for _, name := range b.names {
		h := &tar.Header{Name: "fettle-support/" + name, Mode: 0o600, Size: int64(len(b.texts[name])),
			ModTime: unixTime(now), Format: tar.FormatPAX}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(b.texts[name]); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}
