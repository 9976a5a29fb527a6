package hub

import (
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"fettle.dev/fettle/internal/fleet/hub"
)

// hubFlags are the settings of a new hub.
type hubFlags struct {
	dir, fleet, name, api, bus string
	user                       hubUserFlag
	cluster, domain            string
	addresses                  []string
	repository, branch         string
	key, known                 string
	poll                       time.Duration
	nats                       natsFlags
}

// listening are the flags of every new hub.
func (f *hubFlags) listening(flags *pflag.FlagSet) {
	flags.StringVar(&f.dir, "dir", hubDir, "store the data of the hub in `DIR`")
	f.user.flag(flags)
	flags.StringVar(&f.name, "name", "", "the `NAME` of this hub (default: this host's)")
	flags.StringArrayVar(&f.addresses, "address", nil,
		"an `ADDRESS` or name at which agents and users reach the hub; may be repeated (default: this host's name)")
	flags.StringVar(&f.api, "api", ":"+strconv.Itoa(hub.DefaultAPI), "serve enrolment, content and the API on `HOST:PORT`")
	flags.StringVar(&f.bus, "bus", ":"+strconv.Itoa(hub.DefaultBus), "serve agents on `HOST:PORT`")
	flags.StringVar(&f.cluster, "cluster", ":"+strconv.Itoa(hub.DefaultCluster),
		"serve other hubs of the fleet, if any, on `HOST:PORT`")
	flags.StringVar(&f.domain, "failure-domain", "",
		"the `NAME` of the failure domain of this host, such as its data center")
	flags.StringVar(&f.key, "key", "", "read the repository over ssh with the private key in this `FILE`")
	flags.StringVar(&f.known, "known-hosts", "", "trust the host keys in this `FILE` when reading the repository over ssh")
	f.nats.flag(flags)
}
