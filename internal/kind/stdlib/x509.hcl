# Keys and certificates that are made on the host, by openssl. Neither is in the
# repository, in a list or in a log.
define "x509_key" {
  description = "A private key that openssl creates once on the host; an existing file is accepted as the key. It never leaves the host. Undone completely: a key that fettle created is removed, and a key that ensure = \"absent\" removed returns."
  main        = "path"

  variable "path" {
    type        = string
    description = "path of the key; its directory must exist; default: the label"
    validation {
      condition     = can(regex("^/[^\\n]*[^/\\n]$", var.path))
      error_message = "path is the absolute path of a file."
    }
  }
  variable "type" {
    type        = string
    default     = "ec"
    description = "ec (P-256), ed25519 or rsa (3072 bits); default: ec"
    validation {
      condition     = contains(["ec", "ed25519", "rsa"], var.type)
      error_message = "type is ec, ed25519 or rsa."
    }
  }
  variable "owner" {
    type        = string
    default     = "root"
    description = "owner of the file"
    validation {
      condition     = can(regex("^[a-z_][a-z0-9_.-]*$", var.owner))
      error_message = "owner is the name of a user."
    }
  }
  variable "group" {
    type        = string
    default     = "root"
    description = "Unix group of the file"
    validation {
      condition     = can(regex("^[a-z_][a-z0-9_.-]*$", var.group))
      error_message = "group is the name of a group."
    }
  }
  variable "mode" {
    type        = string
    default     = "0600"
    description = "permission bits; default: 0600"
    validation {
      condition     = can(regex("^0?[0-7]{2}0$", var.mode))
      error_message = "mode is three or four octal digits and ends in 0: a private key is nothing for everybody."
    }
  }
  variable "package" {
    type        = bool
    default     = true
    description = "install the package openssl; false if another state installs it"
  }
  variable "ensure" {
    type        = string
    default     = "present"
    description = "present or absent"
    validation {
      condition     = contains(["present", "absent"], var.ensure)
      error_message = "ensure is present or absent."
    }
  }

  locals {
    here      = var.ensure == "present"
    algorithm = { ec = ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"], ed25519 = ["ED25519"], rsa = ["RSA", "-pkeyopt", "rsa_keygen_bits:3072"] }
  }

  package "openssl" {
    when = local.here && var.package
  }
  # The key gets its name when it is whole and nobody else can read it.
  exec "make" {
    when    = local.here
    name    = "x509-key-${var.path}"
    command = concat(["sh", "-ec", "path=$1 new=\"$1.fettle-new\"; shift; umask 077; trap 'rm -f \"$new\"' EXIT; openssl genpkey -out \"$new\" -algorithm \"$@\"; mv -T \"$new\" \"$path\"", "x509", var.path], local.algorithm[var.type])
    creates = var.path
    undo    = ["rm", "-f", var.path]
    after   = [package.openssl]
  }
  metadata "key" {
    when  = local.here
    path  = var.path
    owner = var.owner
    group = var.group
    mode  = var.mode
    after = [exec.make]
  }
  file "gone" {
    when   = !local.here
    path   = var.path
    ensure = "absent"
  }
}

define "x509_certificate" {
  description = "A certificate for a key of the host, by openssl: self-signed, or signed by an authority whose certificate and key are files of the host. Every run checks it, and renews it before it expires, and if the key or the names change. Notify the services that read it. Undone partly: the certificate is removed; a previous certificate is not restored."
  main        = "path"

  variable "path" {
    type        = string
    description = "path of the certificate; its directory must exist; default: the label"
    validation {
      condition     = can(regex("^/[^\\n]*[^/\\n]$", var.path))
      error_message = "path is the absolute path of a file."
    }
  }
  variable "key" {
    type        = string
    default     = null
    description = "the private key on the host, such as x509_key.web.path"
    validation {
      condition     = var.key == null || can(regex("^/[^\\n]+$", var.key))
      error_message = "key is the absolute path of a file on the host."
    }
  }
  variable "common_name" {
    type        = string
    default     = null
    description = "subject, such as www.example.org; default: the first of names"
    validation {
      condition     = var.common_name == null || can(regex("^[A-Za-z0-9*][A-Za-z0-9 ._@*-]{0,63}$", var.common_name))
      error_message = "common_name is at most 64 letters, digits, blanks and . _ @ * -."
    }
  }
  variable "names" {
    type        = list(string)
    default     = []
    description = "names and IPv4 addresses of the certificate"
    validation {
      condition     = length([for n in var.names : n if !can(regex("^[A-Za-z0-9*]([A-Za-z0-9*.-]*[A-Za-z0-9])?$", n))]) == 0
      error_message = "names are host names, one an entry of the list, or IPv4 addresses."
    }
  }
  variable "days" {
    type        = number
    default     = 365
    description = "validity in days; default: 365"
    validation {
      condition     = var.days >= 1 && var.days <= 36500 && floor(var.days) == var.days
      error_message = "days is a whole number from 1 to 36500."
    }
  }
  variable "renew_before" {
    type        = number
    default     = 30
    description = "renewal when fewer days remain; default: 30"
    validation {
      condition     = var.renew_before >= 0 && floor(var.renew_before) == var.renew_before
      error_message = "renew_before is a whole number of days."
    }
  }
  variable "authority" {
    type        = bool
    default     = false
    description = "create the certificate of an authority, which may sign others"
  }
  variable "ca_certificate" {
    type        = string
    default     = null
    description = "certificate of the signing authority, on the host; default: self-signed"
    validation {
      condition     = var.ca_certificate == null || can(regex("^/[^\\n]+$", var.ca_certificate))
      error_message = "ca_certificate is the absolute path of a file on the host."
    }
  }
  variable "ca_key" {
    type        = string
    default     = null
    description = "key of the signing authority, on the host"
    validation {
      condition     = var.ca_key == null || can(regex("^/[^\\n]+$", var.ca_key))
      error_message = "ca_key is the absolute path of a file on the host."
    }
  }
  variable "package" {
    type        = bool
    default     = true
    description = "install the package openssl; false if another state installs it"
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
      condition     = var.ensure == "absent" || var.key != null && (var.common_name != null || length(var.names) > 0)
      error_message = "An x509_certificate needs key, and common_name or names."
    }
    validation {
      condition     = var.renew_before < var.days
      error_message = "renew_before has to be less than days, or it would be made anew at every run."
    }
    validation {
      condition     = (var.ca_certificate == null) == (var.ca_key == null)
      error_message = "ca_certificate and ca_key go together."
    }
  }

  locals {
    here  = var.ensure == "present"
    names = [for n in var.names : can(regex("^[0-9]+([.][0-9]+){3}$", n)) ? "IP:${n}" : "DNS:${n}"]
    cn    = coalesce(var.common_name, try(var.names[0], null), "-")
    # What openssl reads, and what it prints of the names afterwards.
    extensions = concat(
      ["[req]", "distinguished_name=dn", "x509_extensions=v3", "[dn]", "[v3]", "subjectKeyIdentifier=hash"],
      length(local.names) > 0 ? ["subjectAltName=${join(",", local.names)}"] : [],
      var.authority ? ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign"] : ["basicConstraints=critical,CA:FALSE", "extendedKeyUsage=serverAuth,clientAuth"],
    )
    shown = join(", ", [for n in local.names : replace(n, "IP:", "IP Address:")])
    ca    = var.ca_certificate != null ? coalesce(var.ca_certificate, "-") : ""
    sign  = var.ca_certificate != null ? ["-CA", coalesce(var.ca_certificate, "-"), "-CAkey", coalesce(var.ca_key, "-")] : []
  }

  package "openssl" {
    when = local.here && var.package
  }
  # The certificate gets its name when it is whole.
  exec "sign" {
    when = local.here
    name = "x509-${var.path}"
    command = concat(["sh", "-ec", <<-EOT
      path=$1 new="$1.fettle-new" conf=$2 ca=$3
      shift 3
      trap 'rm -f "$new"' EXIT
      printf '%s\n' "$conf" | openssl req -config /dev/stdin -x509 -new -sha256 -out "$new" "$@"
      test -z "$ca" || openssl verify -partial_chain -trusted "$ca" "$new" >/dev/null
      chmod 0644 "$new"
      mv -T "$new" "$path"
      EOT
    , "x509", var.path, join("\n", local.extensions), local.ca, "-key", coalesce(var.key, "-"), "-subj", "/CN=${local.cn}", "-days", tostring(var.days)], local.sign)
    unless = ["sh", "-ec", <<-EOT
      test -e "$1"
      openssl x509 -in "$1" -noout -checkend "$3" >/dev/null
      test "$(openssl x509 -in "$1" -noout -pubkey)" = "$(openssl pkey -in "$2" -pubout)"
      test "$(openssl x509 -in "$1" -noout -subject -nameopt RFC2253)" = "subject=CN=$4"
      test "$(openssl x509 -in "$1" -noout -ext subjectAltName 2>/dev/null | sed -n '2s/^ *//p')" = "$5"
      openssl x509 -in "$1" -noout -ext basicConstraints | grep -q "CA:$6"
      if test -n "$7"; then
        openssl verify -partial_chain -trusted "$7" "$1" >/dev/null 2>&1
      else
        test "$(openssl x509 -in "$1" -noout -subject_hash)" = "$(openssl x509 -in "$1" -noout -issuer_hash)"
      fi
      EOT
    , "x509", var.path, coalesce(var.key, "-"), tostring(var.renew_before * 86400), local.cn, local.shown, var.authority ? "TRUE" : "FALSE", local.ca]
    undo    = ["rm", "-f", var.path]
    after   = [package.openssl]
    timeout = "1m"
  }
  file "gone" {
    when   = !local.here
    path   = var.path
    ensure = "absent"
  }
}
