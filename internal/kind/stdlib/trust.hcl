# What is trusted and what is let through.
define "nftables" {
  description = "The firewall: /etc/nftables.conf, which nft must accept before it is in place, loaded at once and at each boot. Declare one state for each host. An error can lock you out, so a run that changes it is undone unless you confirm it. A ruleset that was flushed or changed by hand is drift and is loaded again: the tables of the file are compared without counters, and the named sets and maps of the file must contain its elements. Elements that programs add, sets with timeouts or the flag dynamic, and tables of other programs are not compared. Undone partly: the file, the package, and the rules of the file; rules that were loaded by hand before are not restored."
  main        = "name"

  variable "name" {
    type        = string
    description = "a name for readers; default: the label"
  }
  variable "rules" {
    type        = string
    description = "the ruleset, in nft's language; file(\"files/rules.nft\") reads it from the module"
    validation {
      condition     = can(regex("(?m)^[^#\\n]*[^#\\s]", var.rules))
      error_message = "rules has no rule. Start with table inet filter { … }; to have no firewall leave the state out."
    }
  }
  variable "flush" {
    type        = bool
    default     = true
    description = "begin with flush ruleset, so that only these rules are loaded. With false the tables of other programs stay, and the rules must delete their own table before they create it"
  }
  variable "package" {
    type        = bool
    default     = true
    description = "install the package nftables; false if another state installs it"
  }

  package "nftables" {
    when = var.package
  }
  file "rules" {
    path     = "/etc/nftables.conf"
    content  = "#!/usr/sbin/nft -f\n# managed by fettle\n${var.flush ? "flush ruleset\n" : ""}${chomp(var.rules)}\n"
    mode     = "0755"
    validate = "nft -c -f %s"
    after    = [package.nftables]
    notify   = [service.nftables.reload]
  }
  service "nftables" {
    enabled = true
    running = true
    after   = [file.rules]
  }
  # The guard only reads the host, and it needs the host's network namespace: it loads the file
  # in a network namespace of its own and compares the tables that result. Where the file cannot
  # be loaded there, such as with iif of an interface that only the host has, or without the right to make
  # a namespace, it only asks for the tables that the file names. The awk program prints a command for each
  # named set and map, which fails if one of its elements is missing.
  exec "load" {
    name    = "load-nftables"
    command = ["systemctl", "reload", "nftables.service"]
    unless = ["sh", "-c", <<-EOT
      all='while read -r table; do nft -s -t list $table </dev/null || exit 1; done'
      if want=$(unshare --net sh -c "nft -f \"\$1\" && nft list tables | ($all)" load "$1" 2>/dev/null); then
        tables=$(printf '%s\n' "$want" | sed -n 's/^\(table .*\) {$/\1/p')
      else
        want=
        tables=$(sed -n 's/^[[:space:]]*\(table [^#{]*[^#{[:space:]]\)[[:space:]]*{.*/\1/p' "$1")
      fi
      test -n "$tables" || exit 0
      have=$(printf '%s\n' "$tables" | eval "$all" 2>/dev/null) || exit 1
      test -z "$want" && exit 0
      test "$want" = "$have" || exit 1
      unshare --net sh -c 'nft -f "$1" && nft -s list ruleset' load "$1" | awk '
        /^table / { table = $2 " " $3 }
        /^\t(set|map) / { name = $2; all = ""; on = 0; skip = 0 }
        /^\t\t(flags .*(dynamic|timeout)|timeout )/ { skip = 1 }
        /^\t\telements = / { on = 1; sub(/^\t\telements = /, "") }
        /^\t}/ { if (on && !skip) print "get element " table " " name " " all; on = 0 }
        on { all = all $0 " " }
      ' | nft -f - >/dev/null 2>&1
    EOT
    , "load", "/etc/nftables.conf"]
    guard_network = true
    undo          = ["true"] # the file and the service take the rules back
    after         = [service.nftables]
  }
}

define "ca_certificate" {
  description = "A certificate authority that the host trusts: NAME.crt in /usr/local/share/ca-certificates, and update-ca-certificates. Undone completely, the package included: the collection in /etc/ssl/certs is generated again."
  main        = "name"

  variable "name" {
    type        = string
    description = "name of the file without .crt; default: the label"
    validation {
      condition     = can(regex("^[A-Za-z0-9_-][A-Za-z0-9_.-]*$", var.name)) && !endswith(var.name, ".crt")
      error_message = "name is letters, digits, _, . and -, without .crt."
    }
  }
  variable "certificate" {
    type        = string
    default     = null
    description = "the certificate in PEM form; file(\"files/ca.pem\") reads it from the module"
    validation {
      condition     = var.certificate == null || length(regexall("-----BEGIN CERTIFICATE-----", coalesce(var.certificate, "-"))) == 1
      error_message = "certificate is one certificate in PEM form: it begins with -----BEGIN CERTIFICATE-----. A chain is a state for each."
    }
  }
  variable "package" {
    type        = bool
    default     = true
    description = "install the package ca-certificates; false if another state installs it"
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
      condition     = var.ensure == "absent" || var.certificate != null
      error_message = "A ca_certificate needs certificate."
    }
    # Here, as a message shows the value of its own variable.
    validation {
      condition     = !strcontains(coalesce(var.certificate, "-"), "PRIVATE KEY")
      error_message = "certificate holds a private key. Take it out, and out of the repository."
    }
  }

  locals {
    here = var.ensure == "present"
  }

  package "ca-certificates" {
    when = local.here && var.package
  }
  file "certificate" {
    path     = "/usr/local/share/ca-certificates/${var.name}.crt"
    content  = local.here ? "${trimspace(coalesce(var.certificate, "-"))}\n" : null
    validate = local.here ? "openssl x509 -noout -in %s" : null
    ensure   = var.ensure
    after    = [package.ca-certificates]
    notify   = [exec.update.run]
  }
  exec "update" {
    name    = "update-ca-certificates"
    command = ["update-ca-certificates", "--fresh"]
    lazy    = true
  }
}
