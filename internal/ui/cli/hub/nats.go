package hub

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub"
	"fettle.dev/fettle/internal/ui/cli"
)

func (f *natsFlags) flag(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.urls, "nats", nil,
		"store all data on the NATS cluster at `URL`, tls://HOST:PORT, instead of in the directory of the hub; may be "+
			"repeated for more of its servers")
	flags.StringVar(&f.creds, "nats-creds", "",
		"use the credentials in this `FILE`: a credentials file of nsc, the line USER:PASSWORD, or a certificate with "+
			"its key. The file is copied")
	flags.StringVar(&f.ca, "nats-ca", "",
		"verify the NATS cluster with the CA certificates in this `FILE` (default: the system's). The file is copied")
	cli.NumberVar(flags, &f.replicas, "nats-replicas", 0, 0,
		"store each item on this `NUMBER` of servers of the NATS cluster (default 3)")
}

// given reads what the flags name.
func (f natsFlags) given() (g hub.NatsSettings, err error) {
	g.URLs, g.Replicas = f.urls, f.replicas
	if g.Login, err = readNatsSettings(f.creds); err == nil {
		g.CA, err = readNatsSettings(f.ca)
	}
	if err == nil {
		err = g.Check()
	}
	return g, err
}

// withdrawn returns the remaining task after a hub was retired.
func withdrawn(p document.HubPage) string {
	if !p.Nats {
		return ""
	}
	return " Also revoke its credentials on the NATS cluster."
}

// natsLine names the NATS cluster of a new hub that stores its data there.
func natsLine(b hub.InitOptions) string {
	if len(b.NatsSettings.URLs) == 0 {
		return ""
	}
	return "  NATS        " + strings.Join(b.NatsSettings.URLs, ", ") + ", which stores the data, sealed\n"
}

// readNatsSettings reads a file that is copied, nil for none.
func readNatsSettings(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the settings of the NATS cluster: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err == nil && len(text) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", file, err)
	}
	return text, nil
}

// useNats changes how the hub of a directory reaches its cluster, if the flags say anything.
func useNats(s *cli.Printer, h *Hub, dir string, g hub.NatsSettings, begin bool) error {
	if g.IsZero() {
		return nil
	}
	if h.UseNats == nil {
		return errors.New("cannot use a NATS cluster: this binary was built without support for it")
	}
	err := h.UseNats(dir, g, begin)
	if errors.Is(err, hub.ErrNoNats) {
		return cli.WithHint(err,
			"Back it up, and restore it on the cluster:\n  fettle hub backup FILE\n"+
				"  (stop the hub, and move its directory away)\n  fettle hub restore FILE --nats URL --nats-creds FILE")
	}
	return err
}
