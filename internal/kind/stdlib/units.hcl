# Units that are written here: sockets and containers.
define "socket" {
  description = "A service that starts when a client connects: NAME.socket and NAME.service (with accept NAME@.service) in /etc/systemd/system, the socket enabled and running. Undone completely: the socket stops, and the service with it."
  main        = "name"

  variable "name" {
    type        = string
    description = "name of both units, without suffix; default: the label"
    validation {
      condition     = can(regex("^[A-Za-z0-9:_-]([A-Za-z0-9:_.-]*[A-Za-z0-9:_-])?$", var.name)) && !endswith(var.name, ".socket") && !endswith(var.name, ".service")
      error_message = "name is letters, digits, :, _, . and -, without .socket or .service."
    }
  }
  variable "listen_on" {
    type        = list(string)
    default     = []
    description = "addresses, as in ListenStream of systemd.socket: 8080, 127.0.0.1:8080, [::1]:8080 or /run/shop.sock"
    validation {
      condition     = length([for l in var.listen_on : l if !can(regex("^(/[^\\s]+|@[^\\s]+|[0-9]{1,5}|[0-9.]+:[0-9]{1,5}|\\[[0-9A-Fa-f:.]+\\]:[0-9]{1,5})$", l))]) == 0
      error_message = "listen_on are ports, addresses with a port, or paths, such as 127.0.0.1:8080 or /run/shop.sock."
    }
  }
  variable "command" {
    type        = string
    default     = null
    description = "the command with its path, as in ExecStart of systemd.service; systemd passes the socket"
    validation {
      condition     = var.command == null || can(regex("^[-@:+!]*/[^\\n]*$", var.command))
      error_message = "command is one line that begins with the path of a program, as systemd runs no shell."
    }
  }
  variable "accept" {
    type        = bool
    default     = false
    description = "one process for each connection, which uses standard input and output, as with inetd"
  }
  variable "user" {
    type        = string
    default     = "root"
    description = "user that runs it"
  }
  variable "summary" {
    type        = string
    default     = null
    description = "Description= of the units; default: the name"
  }
  variable "env" {
    type        = map(string)
    default     = {}
    description = "environment variables"
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
      condition     = var.ensure == "absent" || length(var.listen_on) > 0 && var.command != null
      error_message = "A socket needs listen_on and command."
    }
  }

  locals {
    here    = var.ensure == "present"
    summary = var.summary != null ? var.summary : var.name
    socket = concat(
      ["# managed by fettle", "[Unit]", "Description=${local.summary}", "", "[Socket]"],
      [for l in var.listen_on : "ListenStream=${l}"],
      var.accept ? ["Accept=yes"] : [],
      ["", "[Install]", "WantedBy=sockets.target"],
    )
    service = concat(
      ["# managed by fettle", "[Unit]", "Description=${local.summary}", "Requires=${var.name}.socket", "After=${var.name}.socket", "", "[Service]"],
      var.user != "root" ? ["User=${var.user}"] : [],
      [for k, v in var.env : "Environment=${jsonencode(replace("${k}=${v}", "%", "%%"))}"],
      ["ExecStart=${coalesce(var.command, "-")}"],
      var.accept ? ["StandardInput=socket"] : [],
    )
  }

  unit "stopped" {
    when    = !local.here
    name    = "${var.name}.socket"
    enabled = false
    running = false
  }
  file "service" {
    path    = "/etc/systemd/system/${var.name}${var.accept ? "@" : ""}.service"
    content = local.here ? "${join("\n", local.service)}\n" : null
    ensure  = var.ensure
    after   = [unit.stopped]
    notify  = [unit.socket.restart]
  }
  file "socket" {
    path    = "/etc/systemd/system/${var.name}.socket"
    content = local.here ? "${join("\n", local.socket)}\n" : null
    ensure  = var.ensure
    after   = [unit.stopped]
    notify  = [unit.socket.restart]
  }
  unit "socket" {
    when    = local.here
    name    = "${var.name}.socket"
    enabled = true
    running = true
    after   = [file.service, file.socket]
  }
}

define "container" {
  description = "A container that podman runs as a service: NAME.container in /etc/containers/systemd, from which podman makes NAME.service. Needs podman 4.4, which Debian 13 has and Debian 12 does not. Undone partly: the service stops and the file is removed; the image and volumes stay; data outside of volumes is lost, as at every stop."
  main        = "name"

  variable "name" {
    type        = string
    description = "name of the service, without suffix; default: the label"
    validation {
      condition     = can(regex("^[A-Za-z0-9_-]+$", var.name))
      error_message = "name is letters, digits, _ and -."
    }
  }
  variable "image" {
    type        = string
    default     = null
    description = "the image with its registry, such as docker.io/library/redis:7"
    validation {
      condition     = var.image == null || can(regex("^[a-z0-9.-]+(:[0-9]+)?/[^\\s]+$", var.image))
      error_message = "image begins with its registry, such as docker.io/library/redis:7, as podman asks nobody which one is meant."
    }
  }
  variable "command" {
    type        = string
    default     = null
    description = "command that replaces the command of the image"
    validation {
      condition     = var.command == null || can(regex("^[^\\n]+$", var.command))
      error_message = "command is one line."
    }
  }
  variable "ports" {
    type        = list(string)
    default     = []
    description = "published ports, such as 127.0.0.1:8080:80"
    validation {
      condition     = length([for p in var.ports : p if !can(regex("^[^\\s]*[0-9]+(/(tcp|udp))?$", p))]) == 0
      error_message = "ports are [ADDRESS:]PORT:PORT of the container, such as 8080:80."
    }
  }
  variable "volumes" {
    type        = list(string)
    default     = []
    description = "mounted volumes, such as /srv/redis:/data"
    validation {
      condition     = length([for v in var.volumes : v if !can(regex("^[^\\s:]+:/[^\\s]*$", v))]) == 0
      error_message = "volumes are a path or name, a colon, and a path in the container, such as /srv/redis:/data."
    }
  }
  variable "env" {
    type        = map(string)
    default     = {}
    description = "environment variables; the file contains them, so do not use passwords"
  }
  variable "content" {
    type        = string
    default     = ""
    description = "further lines of the section [Container]"
  }
  variable "package" {
    type        = bool
    default     = true
    description = "install the package podman; false if another state installs it"
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
      condition     = var.ensure == "absent" || var.image != null
      error_message = "A container needs image."
    }
  }

  locals {
    here = var.ensure == "present"
    lines = concat(
      ["# managed by fettle", "[Unit]", "Description=${var.name}", "", "[Container]", "ContainerName=${var.name}", "Image=${coalesce(var.image, "-")}"],
      [for p in var.ports : "PublishPort=${p}"],
      [for v in var.volumes : "Volume=${v}"],
      [for k, v in var.env : "Environment=${jsonencode(replace("${k}=${v}", "%", "%%"))}"],
      var.command != null ? ["Exec=${var.command}"] : [],
      trimspace(var.content) != "" ? [chomp(var.content)] : [],
      ["", "[Service]", "Restart=always", "", "[Install]", "WantedBy=multi-user.target"],
    )
  }

  package "podman" {
    when = local.here && var.package
  }
  unit "stopped" {
    when    = !local.here
    name    = "${var.name}.service"
    running = false
  }
  directory "containers" {
    path  = "/etc/containers"
    after = [package.podman]
  }
  directory "systemd" {
    path  = "/etc/containers/systemd"
    after = [directory.containers]
  }
  file "quadlet" {
    path    = "/etc/containers/systemd/${var.name}.container"
    content = local.here ? "${join("\n", local.lines)}\n" : null
    ensure  = var.ensure
    after   = [unit.stopped]
    notify  = [exec.reload.run]
  }
  exec "reload" {
    name    = "daemon-reload"
    command = ["systemctl", "daemon-reload"]
    lazy    = true
  }
  unit "service" {
    when    = local.here
    name    = "${var.name}.service"
    running = true
    timeout = "15m"
    after   = [file.quadlet, exec.reload]
    listen  = { restart = [file.quadlet] }
  }
}
