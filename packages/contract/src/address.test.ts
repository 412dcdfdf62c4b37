import { BlockList, isIP } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isOpenAddress, reachOfAddress } from "./address.ts";

describe("EG-5 AZ-5 where an address is", () => {
  it.each([
    [
      "never",
      "0.0.0.0 127.0.0.1 169.254.169.254 100.100.100.200 168.63.129.16 192.0.0.192 198.19.9.9 240.0.0.1",
    ],
    [
      "never",
      ":: ::1 fe80::1 ff02::1 ::ffff:8.8.8.8 ::8.8.8.8 64:ff9b::808:808 2002:808:808::1 2001::1 100::1",
    ],
    ["never", "2001:db8::1 3fff::1 fd00:ec2::254 fe80::1%eth0 localhost 127.1 0x7f.1 2130706433 example.com"],
    [
      "inside",
      "10.0.0.1 100.64.0.1 172.16.0.1 172.31.255.255 192.168.1.1 192.0.2.1 203.0.113.9 fc00::1 fd12::1",
    ],
    ["open", "8.8.8.8 172.32.0.1 172.15.255.255 100.128.0.1 126.255.255.255 128.0.0.0 223.255.255.255"],
    ["open", "2606:4700::1111 2a00:1450:4001:81b::200e 2001:200::1 3ffe::1 2003::1"],
  ])("is %s: %s", (reach, addresses) => {
    const all = addresses.split(" ");
    expect(all.map((address) => [address, reachOfAddress(address)])).toEqual(all.map((one) => [one, reach]));
  });

  it("is the same in every spelling, and as the platform's own lists have it", () => {
    const private4 = new BlockList();
    for (const [net, prefix] of [
      ["10.0.0.0", 8],
      ["172.16.0.0", 12],
      ["192.168.0.0", 16],
    ] as const)
      private4.addSubnet(net, prefix, "ipv4");
    const global6 = new BlockList();
    global6.addSubnet("2000::", 3, "ipv6");
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (address) => {
        const reach = reachOfAddress(address);
        expect(reachOfAddress(address.toUpperCase())).toBe(reach);
        if (isIP(address) === 4 && private4.check(address, "ipv4")) expect(reach).toBe("inside");
        if (isIP(address) === 6 && !global6.check(address, "ipv6")) expect(reach).not.toBe("open");
        expect(isOpenAddress(address)).toBe(reach === "open");
      }),
      { numRuns: 2_000 },
    );
  });
});
