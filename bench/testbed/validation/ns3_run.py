"""Jobs on one bottleneck in ns-3, packet by packet: JSON on standard input, one line per iteration on standard output.

For a Python that has ns-3's bindings (PyPI: ``ns3``), in a virtual environment whose path does not contain "test". Each
job is a sender and a receiver on either side of the bottleneck, with DCTCP over persistent connections, and a queue
that marks at a threshold as DCTCP asks (RED, one threshold, instantaneous length). A job computes, then sends its
volume in equal parts over its connections; what was received last ends the iteration.
"""

import json
import sys

from ns import ns

ns.cppyy.cppdef("""
#include <map>
#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/internet-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"
using namespace ns3;

// Marked packets by job: counted where they arrive, by the port they are sent to.
static std::map<uint16_t, uint64_t> marked;
static std::map<uint16_t, uint64_t> packets;

static void Arrived(const Ipv4Header& ip, Ptr<const Packet> packet, uint32_t)
{
  if (ip.GetProtocol() != 6) return;
  TcpHeader tcp;
  packet->PeekHeader(tcp);
  if (packet->GetSize() <= tcp.GetSerializedSize()) return;
  packets[tcp.GetDestinationPort()] += 1;
  if (ip.GetEcn() == Ipv4Header::ECN_CE) marked[tcp.GetDestinationPort()] += 1;
}

static void CountArrivals(Ptr<Node> node)
{
  node->GetObject<Ipv4L3Protocol>()->TraceConnectWithoutContext("LocalDeliver", MakeCallback(&Arrived));
}

struct Job
{
  double compute_s = 0, start_s = 0;
  uint32_t bytes = 0;  // per connection and iteration
  uint16_t port = 0;
  std::vector<Ptr<Socket>> senders;
  std::vector<uint32_t> unsent;
  uint64_t received = 0, wanted = 0;
  double began = 0;
  uint64_t marked_before = 0, packets_before = 0;

  void Begin() { began = Simulator::Now().GetSeconds(); Simulator::Schedule(Seconds(compute_s), &Job::Send, this); }

  void Send()
  {
    wanted += uint64_t(bytes) * senders.size();
    for (size_t i = 0; i < senders.size(); i++) { unsent[i] += bytes; Push(i); }
  }

  void Push(size_t i)
  {
    while (unsent[i] > 0)
    {
      uint32_t size = std::min<uint32_t>({unsent[i], senders[i]->GetTxAvailable(), 65536});
      if (size == 0) return;
      int sent = senders[i]->Send(Create<Packet>(size));
      if (sent <= 0) return;
      unsent[i] -= sent;
    }
  }

  void CanSend(Ptr<Socket> socket, uint32_t)
  {
    for (size_t i = 0; i < senders.size(); i++) if (senders[i] == socket) Push(i);
  }

  void Accept(Ptr<Socket> socket, const Address&) { socket->SetRecvCallback(MakeCallback(&Job::Receive, this)); }

  void Receive(Ptr<Socket> socket)
  {
    Ptr<Packet> packet;
    while ((packet = socket->Recv())) received += packet->GetSize();
    if (wanted > 0 && received == wanted)
    {
      double now = Simulator::Now().GetSeconds();
      std::cout << port << " " << began * 1e3 << " " << now * 1e3 << " " << marked[port] - marked_before << " "
                << packets[port] - packets_before << std::endl;
      marked_before = marked[port];
      packets_before = packets[port];
      wanted = received = 0;
      Begin();
    }
  }

  void Listen(Ptr<Node> node)
  {
    Ptr<Socket> socket = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
    socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
    socket->Listen();
    socket->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(), MakeCallback(&Job::Accept, this));
  }

  void Connect(Ptr<Node> node, Ipv4Address to, uint32_t flows)
  {
    for (uint32_t i = 0; i < flows; i++)
    {
      Ptr<Socket> socket = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
      socket->Bind();
      socket->Connect(InetSocketAddress(to, port));
      socket->SetSendCallback(MakeCallback(&Job::CanSend, this));
      senders.push_back(socket);
      unsent.push_back(0);
    }
    Simulator::Schedule(Seconds(start_s) - Simulator::Now(), &Job::Begin, this);
  }
};

static std::vector<Job*> all_jobs;

void AddJob(Ptr<Node> from, Ptr<Node> to, Ipv4Address address, uint16_t port, double compute_s, double start_s,
            uint32_t bytes, uint32_t flows)
{
  Job* job = new Job();
  job->compute_s = compute_s; job->start_s = start_s; job->bytes = bytes; job->port = port;
  all_jobs.push_back(job);
  CountArrivals(to);
  job->Listen(to);
  Simulator::ScheduleWithContext(from->GetId(), MilliSeconds(10), &Job::Connect, job, from, address, flows);
}
""")


def main() -> None:
    """Run the scenario."""
    given = json.load(sys.stdin)
    packet = given["packet_bytes"]
    threshold = f"{given['threshold_packets']}"
    ns.Config.SetDefault("ns3::TcpL4Protocol::SocketType", ns.StringValue("ns3::TcpDctcp"))
    ns.Config.SetDefault("ns3::TcpSocket::SegmentSize", ns.UintegerValue(packet - 52))
    ns.Config.SetDefault("ns3::TcpSocket::SndBufSize", ns.UintegerValue(4 << 20))
    ns.Config.SetDefault("ns3::TcpSocket::RcvBufSize", ns.UintegerValue(4 << 20))
    ns.Config.SetDefault("ns3::TcpSocket::DelAckCount", ns.UintegerValue(2))
    ns.Config.SetDefault("ns3::RedQueueDisc::UseEcn", ns.BooleanValue(True))
    ns.Config.SetDefault("ns3::RedQueueDisc::UseHardDrop", ns.BooleanValue(False))
    ns.Config.SetDefault("ns3::RedQueueDisc::MeanPktSize", ns.UintegerValue(packet))
    ns.Config.SetDefault("ns3::RedQueueDisc::QW", ns.DoubleValue(1.0))
    ns.Config.SetDefault("ns3::RedQueueDisc::MaxSize", ns.QueueSizeValue(ns.QueueSize("2000p")))
    for bound in ("MinTh", "MaxTh"):
        ns.Config.SetDefault(f"ns3::RedQueueDisc::{bound}", ns.DoubleValue(float(threshold)))
    jobs = given["jobs"]
    left, right, switches = ns.NodeContainer(), ns.NodeContainer(), ns.NodeContainer()
    for nodes, count in ((left, len(jobs)), (right, len(jobs)), (switches, 2)):
        nodes.Create(count)
    stack = ns.InternetStackHelper()
    stack.InstallAll()
    wide, narrow = ns.PointToPointHelper(), ns.PointToPointHelper()
    for helper in (wide, narrow):  # a host sends no faster than the bottleneck: alone it makes no queue there
        helper.SetDeviceAttribute("DataRate", ns.StringValue(f"{given['gbps']}Gbps"))
        helper.SetChannelAttribute("Delay", ns.StringValue(f"{given['delay_us']}us"))
        helper.SetQueue("ns3::DropTailQueue", "MaxSize", ns.QueueSizeValue(ns.QueueSize("1p")))
    wide.SetQueue("ns3::DropTailQueue", "MaxSize", ns.QueueSizeValue(ns.QueueSize("4000p")))
    red = ns.TrafficControlHelper()
    red.SetRootQueueDisc("ns3::RedQueueDisc")
    addresses = ns.Ipv4AddressHelper()
    addresses.SetBase(ns.Ipv4Address("10.0.0.0"), ns.Ipv4Mask("255.255.255.0"))
    between = narrow.Install(switches.Get(0), switches.Get(1))
    red.Install(between)
    addresses.Assign(between)
    targets = []
    for number in range(len(jobs)):
        for nodes, switch in ((left, 0), (right, 1)):
            devices = wide.Install(nodes.Get(number), switches.Get(switch))
            addresses.NewNetwork()
            assigned = addresses.Assign(devices)
        targets.append(assigned.GetAddress(0))
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
    for number, job in enumerate(jobs):
        ns.cppyy.gbl.AddJob(
            left.Get(number),
            right.Get(number),
            targets[number],
            5000 + number,
            job["compute_ms"] / 1e3,
            job["start_ms"] / 1e3,
            job["bytes"] // given["flows"],
            given["flows"],
        )
    ns.Simulator.Stop(ns.Seconds(given["until_ms"] / 1e3))
    ns.Simulator.Run()


main()
