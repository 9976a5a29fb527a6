package agent

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

const upgradeLong = `Upgrades agents: gives the hub a fettle binary for the agents that -t selects,
including agents that join later. The hub itself is not upgraded. If several
settings select an agent, the most recent one wins, so begin with some agents
and continue with all. Without --binary it shows the settings.

An agent fetches the binary, has it check itself, and runs it beside the old
one. If the new binary does not reach the hub within --timeout, the old one
continues and reports that in an event. It does not try that binary again until
an operator requests it with fettle job apply. An agent never takes a binary
that is older than the host's package.

If agents require signed commits, one of their trusted keys must also sign the
binary:

  fettle agent upgrade --binary fettle --text >program.json
  ssh-keygen -Y sign -n fettle-program -f KEY program.json
  fettle agent upgrade --binary fettle --signature program.json.sig -t '*'`

func newAgentUpgrade(s *cli.Session) *cobra.Command {
	var f upgradeFlags
	c := hubclient.SelectMany(&cobra.Command{
		Use:   "upgrade [--binary FILE… -t SELECTION]",
		Short: "Upgrade agents to another binary",
		Long:  upgradeLong,
		Example: "  fettle agent upgrade --binary ./fettle -t label:canary=yes\n" +
			"  fettle agent upgrade --binary fettle-amd64 --binary fettle-arm64 --version 1.5.0 -t '*'\n" +
			"  fettle agent upgrade",
		Args: cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return upgrade(c.Context(), s, f) },
	})
	flags := c.Flags()
	flags.StringArrayVar(&f.files, "binary", nil, "the binary for one architecture, in this `FILE`; may be repeated")
	flags.StringVar(&f.version, "version", "",
		"the `VERSION` of the binary (default: the version that it reports, if it runs here)")
	flags.StringVar(&f.signature, "signature", "", "the signature from ssh-keygen, in this `FILE`")
	flags.BoolVar(&f.text, "text", false, "print the text to sign, and contact no hub")
	cli.SpanVar(flags, &f.within, "timeout", fleet.BinaryTry,
		"return to the old binary if the new one reaches no hub within this `DURATION`")
	return c
}

func upgrade(ctx context.Context, s *cli.Session, f upgradeFlags) error {
	if len(f.files) == 0 {
		return upgrades(ctx, s.Printer)
	}
	p, err := readBinary(ctx, s.Printer, f)
	if err != nil {
		return err
	}
	if f.text {
		_, err := s.App.Stdout.Write(p.Text())
		return err
	}
	if f.signature != "" {
		text, err := os.ReadFile(f.signature)
		if err != nil {
			return fmt.Errorf("cannot read the signature: %w", err)
		}
		p.Signature = string(text)
	}
	words, err := hubclient.SelectedOnHub(s)
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return cli.Refuse("Start with a few: -t label:canary=yes. For all agents: -t '*'",
			"cannot upgrade agents: none is selected")
	}
	hub, err := hubclient.HubOf(s.Printer)
	if err != nil {
		return err
	}
	for _, file := range f.files {
		if err := uploadBinary(ctx, s.Printer, hub, file); err != nil {
			return err
		}
	}
	d, err := client.Post(ctx, hub, route.SetBinary(), document.BinaryRequest{Select: words, Binary: p})
	if err != nil {
		return err
	}
	return s.Done("upgrade", 0, d.Text+"\nWatch the upgrades: fettle events --kind upgraded --watch")
}

func uploadBinary(ctx context.Context, s *cli.Printer, hub *client.Client, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("cannot read the binary: %w", err)
	}
	defer file.Close()
	_, err = hub.UploadBinary(ctx, file)
	return err
}

// upgrades shows what was said.
func upgrades(ctx context.Context, s *cli.Printer) error {
	hub, err := hubclient.HubOf(s)
	if err != nil {
		return err
	}
	page, err := client.Get(ctx, hub, route.Binaries())
	if err != nil {
		return err
	}
	return hubclient.ShowDocument(s, page, func() {
		if len(page.Binaries) == 0 {
			s.Printf("Agents run the binaries of their packages: no other binary is set.\n")
			return
		}
		var rows [][]string
		for _, p := range page.Binaries {
			rows = append(rows, []string{p.Binary.Version, strings.Join(p.Select, ","),
				strings.Join(slices.Sorted(maps.Keys(p.Binary.Files)), " "), signedWord(p.Binary), hubclient.AgoText(s, p.At),
				cmp.Or(p.By, "-")})
		}
		s.Style().Table(s.App.Stdout, []string{"VERSION", "TARGETS", "ARCHITECTURES", "SIGNED", "SINCE", "BY"}, rows)
	})
}

func signedWord(p fleet.Binary) string {
	if p.Signature == "" {
		return "no"
	}
	return "yes"
}
