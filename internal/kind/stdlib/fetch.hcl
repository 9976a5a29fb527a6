# What comes from elsewhere. Neither is in the repository: the history of the
# repository says which digest it was, and not what was in it.
define "download" {
  description = "A file from the network, by curl and checked by its digest. It is not in the repository or in fettle's record, so going back to it means fetching it again; what has to come back for sure is a file with source. Taken back partly: the file goes, and one that stood there before is not kept."
  main        = "path"

  variable "path" {
    type        = string
    description = "where the file is; the label when left out"
    validation {
      condition     = can(regex("^/[^\\n]*[^/\\n]$", var.path))
      error_message = "path is the absolute path of a file."
    }
  }
  variable "url" {
    type        = string
    default     = null
    description = "where it comes from: https, http or file"
    validation {
      condition     = var.url == null || can(regex("^(https?|file)://[^\\s]+$", var.url))
      error_message = "url begins with https://, http:// or file://."
    }
  }
  variable "sha256" {
    type        = string
    default     = null
    description = "its SHA-256, 64 hexadecimal digits"
    validation {
      condition     = var.sha256 == null || can(regex("^[0-9a-f]{64}$", var.sha256))
      error_message = "sha256 is 64 digits from 0 to f, as sha256sum prints them."
    }
  }
  variable "mode" {
    type        = string
    default     = "0644"
    description = "permission bits, 0644 when left out; it belongs to root"
    validation {
      condition     = can(regex("^[0-7]{3,4}$", var.mode))
      error_message = "mode is three or four octal digits."
    }
  }
  variable "timeout" {
    type        = string
    default     = "10m"
    description = "how long it may take; 10m when left out"
  }
  variable "package" {
    type        = bool
    default     = true
    description = "install the package curl, and ca-certificates for https; false when something else does"
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
      condition     = var.ensure == "absent" || var.url != null && var.sha256 != null
      error_message = "A download needs url and sha256."
    }
    # Here, as a message shows the value of its own variable.
    validation {
      condition     = !can(regex("^https?://[^/]*@", coalesce(var.url, "-")))
      error_message = "url holds a password, and would stand in lists and logs. Put it into /root/.netrc, where curl finds it."
    }
  }

  locals {
    here = var.ensure == "present"
    url  = coalesce(var.url, "-")
    sum  = coalesce(var.sha256, "-")
  }

  # The file gets its name when it is whole and right.
  package "curl" {
    when = local.here && var.package
  }
  package "ca-certificates" {
    when = local.here && var.package && startswith(local.url, "https:")
  }
  exec "fetch" {
    when    = local.here
    name    = "download-${var.path}"
    command = ["sh", "-ec", "new=\"$2.fettle-new\"; trap 'rm -f \"$new\"' EXIT; curl --netrc-optional -fsSL --retry 3 -o \"$new\" -- \"$1\"; echo \"$3  $new\" | sha256sum -c --quiet; chown root:root \"$new\"; chmod \"$4\" \"$new\"; mv \"$new\" \"$2\"", "download", local.url, var.path, local.sum, var.mode]
    unless  = ["sh", "-c", "echo \"$2  $1\" | sha256sum -c --status && test \"$(stat -c 0%a:%u:%g \"$1\")\" = \"0${trimprefix(var.mode, "0")}:0:0\"", "download", var.path, local.sum]
    undo    = ["rm", "-f", var.path]
    after   = [package.curl, package.ca-certificates]
    timeout = var.timeout
  }
  file "gone" {
    when   = !local.here
    path   = var.path
    ensure = "absent"
  }
}

define "archive" {
  description = "An archive of the host, tar or zip, such as one of file or download, unpacked into a directory that is made for it, whole or not at all; a path that is there is taken for unpacked. For another version use another path, and a link to it. A tree of the module is better a directory with source, which knows each entry. Taken back wholly: what came out of the archive goes, and the directory when nothing else is in it."
  main        = "path"

  variable "path" {
    type        = string
    description = "the directory, in one that is there; the label when left out"
    validation {
      condition     = can(regex("^/[^\\n]*[^/\\n]$", var.path))
      error_message = "path is the absolute path of a directory."
    }
  }
  variable "archive" {
    type        = string
    default     = null
    description = "the archive's path, such as file.shop.path or download.shop.path. One whose name ends in .zip, .jar or .war is a zip archive, any other one is for tar, which finds out how it is packed. With source where it is kept, PATH.archive when left out"
    validation {
      condition     = var.archive == null || can(regex("^/[^\\n]+$", var.archive))
      error_message = "archive is the absolute path of a file on the host."
    }
  }
  variable "source" {
    type        = string
    default     = null
    description = "an archive of the module, which is copied to the host first"
    validation {
      condition     = var.archive != null || var.source != null
      error_message = "An archive needs archive, a file of the host, or source, a file of the module."
    }
  }
  variable "strip" {
    type        = number
    default     = 0
    description = "how many leading directories of the names are left out; 1 for most sources"
    validation {
      condition     = can(regex("^[0-9]$", tostring(var.strip)))
      error_message = "strip is a whole number from 0 to 9."
    }
  }
  variable "owner" {
    type        = string
    default     = "root"
    description = "user that everything belongs to"
    validation {
      condition     = can(regex("^[a-z_][a-z0-9_.-]*$", var.owner))
      error_message = "owner is the name of a user."
    }
  }
  variable "group" {
    type        = string
    default     = "root"
    description = "Unix group that everything belongs to"
    validation {
      condition     = can(regex("^[a-z_][a-z0-9_.-]*$", var.group))
      error_message = "group is the name of a group."
    }
  }
  variable "package" {
    type        = bool
    default     = true
    description = "install the package that unpacks it: libarchive-tools for zip, xz-utils, bzip2, zstd or lzip by the end of the name; false when something else does"
  }

  locals {
    archive = coalesce(var.archive, "${var.path}.archive")
    name    = lower(coalesce(var.archive, var.source, "-"))
    zip     = can(regex("[.](zip|jar|war)$", local.name))
    packed  = try(regex("[.]t?(xz|bz2|bz|zst|lz)$", local.name)[0], local.zip ? "zip" : "")
    program = lookup({ zip = "libarchive-tools", xz = "xz-utils", bz2 = "bzip2", bz = "bzip2", zst = "zstd", lz = "lzip" }, local.packed, "")
    # bsdtar takes the options of tar, but lists names as they are in the archive.
    unpack = local.zip ? "bsdtar" : "tar"
    list   = local.zip ? "bsdtar -tf \"$1\" | cut -d/ -f$(($3 + 1))- ${var.strip > 0 ? "-s" : ""}" : "tar --strip-components=\"$3\" --show-transformed-names -tf \"$1\""
  }

  file "packed" {
    when   = var.source != null
    path   = local.archive
    source = var.source
  }
  package "program" {
    when = var.package && local.program != ""
    name = local.program
  }
  exec "unpack" {
    name    = "archive-${var.path}"
    command = ["sh", "-ec", "new=\"$2.fettle-new\"; rm -rf \"$new\"; mkdir -m 0755 \"$new\"; ${local.unpack} -C \"$new\" --strip-components=\"$3\" --no-same-owner -xf \"$1\"; chown -hR \"$4\" \"$new\"; mv -T \"$new\" \"$2\"", "archive", local.archive, var.path, tostring(var.strip), "${var.owner}:${var.group}"]
    creates = var.path
    after   = [file.packed, package.program]
    undo    = ["sh", "-ec", "${local.unpack} -tf \"$1\" >/dev/null; cd \"$2\"; ${local.list} | sort -r | while IFS= read -r name; do case \"$name\" in */) rmdir -- \"$name\" 2>/dev/null || :;; ?*) rm -f -- \"$name\";; esac; done; cd /; rmdir --ignore-fail-on-non-empty \"$2\"", "archive", local.archive, var.path, tostring(var.strip)]
    timeout = "30m"
  }
}
