import { BlockList } from "node:net";
import { describe, expect, it } from "vitest";
import { mayDial, reachOf } from "./address.ts";

const nobody = new BlockList();

describe("EG-5 addresses that a sandbox does not reach", () => {
  it.each([
    ["0.0.0.0", "127.0.0.1", "127.255.0.9", "169.254.169.254", "169.254.170.2", "169.254.170.23"],
    [
      "100.100.100.200",
      "168.63.129.16",
      "192.0.0.192",
      "198.18.0.1",
      "198.19.9.9",
      "224.0.0.1",
      "255.255.255.255",
    ],
    [
      "::",
      "::1",
      "::ffff:127.0.0.1",
      "::ffff:8.8.8.8",
      "::ffff:10.9.9.9",
      "::ffff:a09:909",
      "64:ff9b::808:808",
      "2002:808:808::1",
      "fe80::1",
      "ff02::1",
    ],
    ["fd00:ec2::254", "2001::1", "::8.8.8.8", "fe80::1%eth0", "100::1", "not an address", ""],
  ])("not even where a rule names them (%#)", (...addresses) => {
    const everything = ["0.0.0.0/0", "::/0"];
    expect(addresses.filter((address) => mayDial(address, everything, nobody))).toEqual([]);
    // Nor where they are this machine's own, or an IPv4 address inside in IPv6's clothes.
    const own = new BlockList();
    own.addSubnet("0.0.0.0", 0, "ipv4");
    own.addSubnet("::", 0, "ipv6");
    expect(addresses.filter((address) => mayDial(address, everything, own))).toEqual([]);
  });

  it("inside a network only where a rule names it", () => {
    for (const address of ["10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "fd12::1"]) {
      expect(reachOf(address, nobody)).toBe("inside");
      expect(mayDial(address, [], nobody)).toBe(false);
    }
    expect(mayDial("10.1.2.3", ["10.1.2.0/24"], nobody)).toBe(true);
    expect(mayDial("10.1.3.3", ["10.1.2.0/24"], nobody)).toBe(false);
    expect(mayDial("fd12::1", ["fd12::/64"], nobody)).toBe(true);
    expect(mayDial("10.1.2.3", ["fd12::/64"], nobody)).toBe(false);
  });

  it("this machine's own are inside, wherever they are", () => {
    const own = new BlockList();
    own.addAddress("93.184.216.34", "ipv4");
    own.addAddress("2606:2800::1", "ipv6");
    expect(mayDial("93.184.216.34", [], own)).toBe(false);
    expect(mayDial("2606:2800:0:0::0:1", [], own), "however it is spelt").toBe(false);
    expect(mayDial("93.184.216.34", [], nobody)).toBe(true);
    expect(mayDial("2606:2800::1", [], nobody)).toBe(true);
  });
});
