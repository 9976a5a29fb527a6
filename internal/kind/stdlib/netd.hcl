# Addresses of the machine, and whom it asks for names.
define "resolver" {
  description = "The name servers of the machine: /etc/resolv.conf, written as a file instead of a link; or with resolved a file in /etc/systemd/resolved.conf.d and systemd-resolved restarted, whose package is installed for it and owns /etc/resolv.conf. One state a host. Undone completely."
  main        = "name"

  variable "name" {
    type        = string
    description = "name of the file without .conf; default: the label"
    validation {
      condition     = can(regex("^[A-Za-z0-9_-][A-Za-z0-9_.-]*$", var.name)) && !endswith(var.name, ".conf")
      error_message = "name is letters, digits, _, . and -, without .conf."
    }
  }
  variable "servers" {
    type        = list(string)
    description = "addresses of name servers, in the order of their use"
    validation {
      condition     = length(var.servers) > 0 && length([for s in var.servers : s if !can(regex("^([0-9]{1,3}([.][0-9]{1,3}){3}|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)(%[a-z0-9.]+)?$", s))]) == 0
      error_message = "servers are IPv4 or IPv6 addresses, and at least one."
    }
  }
  variable "search" {
    type        = list(string)
    default     = []
    description = "search domains for short names; with resolved, ~DOMAIN sends only names of that domain to these servers"
    validation {
      condition     = length([for s in var.search : s if !can(regex(var.resolved ? "^~?[A-Za-z0-9_.-]+$" : "^[A-Za-z0-9_.-]+$", s))]) == 0
      error_message = "search are domains, one an entry of the list."
    }
  }
  variable "options" {
    type        = list(string)
    default     = []
    description = "options of resolv.conf, such as timeout:2; with resolved lines such as DNSSEC=yes"
    validation {
      condition     = length([for o in var.options : o if !can(regex("^[^\\s]+$", o))]) == 0
      error_message = "options are words without blanks, one an entry of the list."
    }
  }
  variable "resolved" {
    type        = bool
    default     = false
    description = "configure systemd-resolved instead of /etc/resolv.conf"
    validation {
      condition     = var.resolved || length(var.servers) <= 3
      error_message = "/etc/resolv.conf has at most three servers. Leave some out, or use resolved."
    }
  }
  variable "package" {
    type        = bool
    default     = true
    description = "with resolved: install the package systemd-resolved; false if another state installs it"
  }

  locals {
    plain = concat(
      ["# managed by fettle"],
      [for s in var.servers : "nameserver ${s}"],
      length(var.search) > 0 ? ["search ${join(" ", var.search)}"] : [],
      length(var.options) > 0 ? ["options ${join(" ", var.options)}"] : [],
    )
    resolved = concat(
      ["# managed by fettle", "[Resolve]", "DNS=${join(" ", var.servers)}"],
      length(var.search) > 0 ? ["Domains=${join(" ", var.search)}"] : [],
      var.options,
    )
  }

  file "plain" {
    when    = !var.resolved
    path    = "/etc/resolv.conf"
    content = "${join("\n", local.plain)}\n"
  }
  package "systemd-resolved" {
    when = var.resolved && var.package
  }
  directory "dir" {
    when  = var.resolved
    path  = "/etc/systemd/resolved.conf.d"
    after = [package.systemd-resolved]
  }
  file "resolved" {
    when    = var.resolved
    path    = "/etc/systemd/resolved.conf.d/${var.name}.conf"
    content = "${join("\n", local.resolved)}\n"
    after   = [package.systemd-resolved]
    notify  = [service.resolved.restart]
  }
  service "resolved" {
    when  = var.resolved
    name  = "systemd-resolved"
    after = [package.systemd-resolved]
  }
}

define "network" {
  description = "An interface that systemd-networkd brings up: NAME.network in /etc/systemd/network, the service enabled and running, and restarted (which keeps connections) when the file changes. If /etc/network/interfaces contains the interface too, remove it there, otherwise both configure it. An error can lock you out, so a run that changes it is undone unless you confirm it. Undone partly: the file and the service are restored; other addresses stay until the next boot."
  main        = "name"

  variable "name" {
    type        = string
    description = "name of the file without .network, such as 10-lan; the first file that matches an interface counts; default: the label"
    validation {
      condition     = can(regex("^[A-Za-z0-9_-][A-Za-z0-9_.-]*$", var.name)) && !endswith(var.name, ".network")
      error_message = "name is letters, digits, _, . and -, without .network."
    }
  }
  variable "interface" {
    type        = string
    default     = null
    description = "the interface, such as enp1s0 or en*"
    validation {
      condition     = var.interface == null || can(regex("^[A-Za-z0-9_.:*?-]+( [A-Za-z0-9_.:*?-]+)*$", var.interface))
      error_message = "interface is a name such as enp1s0, or a pattern such as en*."
    }
  }
  variable "dhcp" {
    type        = bool
    default     = false
    description = "addresses from the network, IPv4 and IPv6"
  }
  variable "addresses" {
    type        = list(string)
    default     = []
    description = "fixed addresses with the length of their network, such as 192.0.2.7/24"
    validation {
      condition     = length([for a in var.addresses : a if !can(regex("^([0-9]{1,3}([.][0-9]{1,3}){3}|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)/[0-9]{1,3}$", a))]) == 0
      error_message = "addresses have the length of their network behind them, such as 192.0.2.7/24 or 2001:db8::7/64."
    }
  }
  variable "gateway" {
    type        = list(string)
    default     = []
    description = "addresses of the default gateways"
    validation {
      condition     = length([for a in var.gateway : a if !can(regex("^([0-9]{1,3}([.][0-9]{1,3}){3}|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)$", a))]) == 0
      error_message = "gateway are IPv4 or IPv6 addresses, without a length."
    }
  }
  variable "dns" {
    type        = list(string)
    default     = []
    description = "addresses of name servers, for systemd-resolved"
    validation {
      condition     = length([for a in var.dns : a if !can(regex("^([0-9]{1,3}([.][0-9]{1,3}){3}|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)$", a))]) == 0
      error_message = "dns are IPv4 or IPv6 addresses."
    }
  }
  variable "content" {
    type        = string
    default     = ""
    description = "additional sections, such as [Route]"
  }
  variable "ensure" {
    type        = string
    default     = "present"
    description = "present or absent"
    validation {
      condition     = contains(["present", "absent"], var.ensure)
      error_message = "ensure is present or absent."
    }
    validation {
      condition     = var.ensure == "absent" || var.interface != null && (var.dhcp || length(var.addresses) > 0 || trimspace(var.content) != "")
      error_message = "A network needs interface, and dhcp, addresses or content."
    }
  }

  locals {
    here = var.ensure == "present"
    lines = concat(
      ["# managed by fettle", "[Match]", "Name=${coalesce(var.interface, "-")}", "", "[Network]"],
      var.dhcp ? ["DHCP=yes"] : [],
      [for a in var.addresses : "Address=${a}"],
      [for a in var.gateway : "Gateway=${a}"],
      [for a in var.dns : "DNS=${a}"],
      trimspace(var.content) != "" ? ["", chomp(var.content)] : [],
    )
  }

  file "network" {
    path    = "/etc/systemd/network/${var.name}.network"
    content = local.here ? "${join("\n", local.lines)}\n" : null
    ensure  = var.ensure
  }
  # networkd's socket starts it again whenever it is stopped. So the socket is
  # what is started, behind the service, and is stopped first on the way back.
  service "networkd" {
    when    = local.here
    name    = "systemd-networkd"
    enabled = true
    after   = [file.network]
  }
  unit "socket" {
    when    = local.here
    name    = "systemd-networkd.socket"
    running = true
    after   = [service.networkd]
  }
  service "told" {
    when   = local.here
    name   = "systemd-networkd"
    after  = [unit.socket]
    listen = { restart = [file.network] }
  }
  service "gone" {
    when   = !local.here
    name   = "systemd-networkd"
    listen = { reload = [file.network] }
  }
}
